/** Shows JSON Schema as TypeScript, which more people can read. */

export interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly examples?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
}

const width = 96;
const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
const fieldName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));
const indented = (text: string): string => text.replaceAll('\n', '\n  ');
const fits = (line: string, room: number): boolean => line.length <= room && !line.includes('\n');
/** Whether a union takes several lines. */
const isTallUnion = (text: string): boolean => text.startsWith('| ');

/** The text for a string. An id is shown by its example, which contains its prefix: `ses_…`. */
const stringText = ({ examples = [] }: Schema): string => {
  const prefix = /^([a-z]{3,4}_)[0-9a-z]{26}$/.exec(String(examples[0]))?.[1];
  return prefix ? `${prefix}…` : 'string';
};

const unionText = (parts: readonly string[], room: number): string => {
  const texts = [...new Set(parts)];
  const line = texts.join(' | ');
  return texts.length < 2 || fits(line, room) ? line : texts.map((text) => `| ${indented(text)}`).join('\n');
};

const fieldText = (name: string, isOptional: boolean, schema: Schema, room: number): string => {
  const start = `${fieldName(name)}${isOptional ? '?' : ''}:`;
  const text = textOf(schema, room - start.length - 1);
  return isTallUnion(text) ? `${start}\n  ${indented(text)}` : `${start} ${text}`;
};

const objectText = ({ properties = {}, required = [], additionalProperties }: Schema, room: number): string => {
  const fields = Object.entries(properties);
  if (fields.length === 0) {
    const isOpen = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0;
    if (isOpen) return `Record<string, ${textOf(additionalProperties, room)}>`;
    return additionalProperties === false ? '{}' : 'Record<string, Json>';
  }
  const texts = fields.map(([name, schema]) => fieldText(name, !required.includes(name), schema, room - 2));
  const line = `{ ${texts.join('; ')} }`;
  const isTold = fields.some(([, { description }]) => description);
  if (!isTold && fits(line, room)) return line;
  const lines = texts.map((text, place) => {
    const about = fields[place]![1].description;
    return `  ${indented(text)};${about ? ` // ${about}` : ''}`;
  });
  return ['{', ...lines, '}'].join('\n');
};

const arrayText = ({ items = {}, prefixItems }: Schema, room: number): string => {
  if (prefixItems) return `[${prefixItems.map((item) => textOf(item, room)).join(', ')}]`;
  const text = textOf(items, room - 4);
  if (isTallUnion(text)) return `(\n  ${indented(text)}\n)[]`;
  const isUnion = [items.anyOf, items.oneOf, items.enum].some((parts) => parts && parts.length > 1);
  return isUnion ? `(${text})[]` : `${text}[]`;
};

const textOf = (schema: Schema, room: number): string => {
  const { $ref, anyOf, oneOf, allOf, type } = schema;
  if ($ref) return nameOf($ref);
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return unionText(schema.enum.map(literal), room);
  const parts = (anyOf ?? oneOf)?.map((each) => textOf(each, room - 2));
  if (parts) return unionText(parts, room);
  if (allOf) return allOf.map((each) => textOf(each, room)).join(' & ');
  if (type === 'object') return objectText(schema, room);
  if (type === 'array') return arrayText(schema, room);
  if (type === 'string') return stringText(schema);
  if (type === 'integer') return 'number';
  return type ?? 'Json';
};

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1);

/** The schema as text; named shapes appear by name. */
export const shapeText = (schema: Schema): string => textOf(schema, width);

/** The names that a schema refers to. */
export const namesIn = (schema: unknown): readonly string[] => [
  ...new Set([...JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g)].map(([, $ref]) => nameOf(String($ref)))),
];
