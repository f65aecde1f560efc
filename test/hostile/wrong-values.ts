/** Derives values that a JSON schema must reject. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

/** A wrong value as JSON text, because JSON.stringify cannot produce some of them. */
export interface Wrong {
  readonly what: string;
  readonly json: string;
}

const ofType: Readonly<Record<string, readonly string[]>> = {
  string: ['"text"'],
  number: ['1', '-0.5'],
  boolean: ['true'],
  object: ['{}', '{"a":1}'],
  array: ['[]', '[null]'],
  null: ['null'],
};

/** JSON strings with escapes. */
const hostileTexts: Readonly<Record<string, string>> = {
  'U+0000': '"a\\u0000b"',
  'a lone surrogate': '"a\\ud800b"',
  'a lone low surrogate': '"\\udc00"',
};
const tooDeep = `${'['.repeat(120)}1${']'.repeat(120)}`;
const oddKeys = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'unheard_of'];

export const quoted = (text: string): string => JSON.stringify(text);

const typesOf = (schema: Schema): ReadonlySet<string> => {
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return new Set(branches.flatMap((each) => [...typesOf(each)]));
  if (schema.type) return new Set([schema.type === 'integer' ? 'number' : schema.type]);
  if (schema.const !== undefined) return new Set([typeof schema.const]);
  return new Set(Object.keys(ofType));
};

const isAnything = (schema: Schema): boolean => typesOf(schema).size === Object.keys(ofType).length;

function* wrongTexts({
  minLength = 0,
  maxLength,
  enum: names,
  pattern,
  examples,
  const: only,
}: Schema): Generator<Wrong> {
  for (const [what, json] of Object.entries(hostileTexts)) yield { what, json };
  if (minLength > 0) yield { what: 'an empty string', json: '""' };
  if (maxLength !== undefined) yield { what: 'a string that is too long', json: quoted('x'.repeat(maxLength + 1)) };
  if (names || pattern || examples || only !== undefined)
    yield { what: 'another text', json: '"\\n.. nothing of that kind"' };
}

function* wrongNumbers({ type, minimum, exclusiveMinimum, maximum }: Schema): Generator<Wrong> {
  yield { what: 'a number beyond the double range', json: '1e400' };
  yield { what: 'NaN as a string', json: '"NaN"' };
  const least = minimum ?? exclusiveMinimum;
  if (least !== undefined) yield { what: 'a number that is too low', json: String(least - 1) };
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    yield { what: 'a number that is too high', json: String(maximum + 1) };
  if (type !== 'integer') return;
  yield { what: 'a fraction instead of an integer', json: '1.5' };
  yield { what: 'a number beyond safe integers', json: '9007199254740993' };
}

function* wrongLists(schema: Schema, sample: unknown): Generator<Wrong> {
  const { items = {}, minItems = 0, maxItems } = schema;
  const [first] = Array.isArray(sample) ? sample : [];
  if (minItems > 0) yield { what: 'an empty list', json: '[]' };
  if (maxItems !== undefined) {
    yield {
      what: 'a list that is too long',
      json: `[${Array.from({ length: maxItems + 1 }, () => JSON.stringify(first ?? null)).join()}]`,
    };
  }
  for (const { what, json } of wrongValues(items, first)) yield { what: `0: ${what}`, json: `[${json}]` };
}

const objectOf = (fields: ReadonlyMap<string, string>): string =>
  `{${[...fields].map(([name, json]) => `${quoted(name)}:${json}`).join()}}`;

function* wrongObjects(
  { properties = {}, required = [], additionalProperties }: Schema,
  sample: unknown,
): Generator<Wrong> {
  const given = new Map(Object.entries((sample ?? {}) as object).map(([name, value]) => [name, JSON.stringify(value)]));
  const withField = (name: string, json: string): string => objectOf(new Map(given).set(name, json));
  for (const [name, schema] of Object.entries(properties)) {
    const own = (sample as Record<string, unknown> | undefined)?.[name];
    for (const { what, json } of wrongValues(schema, own))
      yield { what: `${name}: ${what}`, json: withField(name, json) };
  }
  for (const name of required) {
    yield { what: `without ${name}`, json: objectOf(new Map([...given].filter(([each]) => each !== name))) };
  }
  if (additionalProperties !== false) return;
  for (const name of oddKeys) yield { what: `with ${name}`, json: withField(name, '{"polluted":true}') };
}

/** `sample` is a valid value; each wrong value is placed inside it. */
export function* wrongValues(schema: Schema, sample?: unknown): Generator<Wrong> {
  const types = typesOf(schema);
  for (const [type, values] of Object.entries(ofType)) {
    if (!types.has(type)) for (const json of values) yield { what: `${type} ${json}`, json };
  }
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) {
    // Another branch may accept what one branch rejects. So this yields only values that no branch can accept.
    for (const branch of branches) {
      if (branch.type === 'object') yield* wrongObjects({ ...branch, required: [] }, sample);
      if (branch.type === 'array') yield* wrongLists(branch, sample);
    }
    if (types.has('string')) for (const [what, json] of Object.entries(hostileTexts)) yield { what, json };
    return;
  }
  if (isAnything(schema)) {
    for (const [what, json] of Object.entries(hostileTexts)) {
      yield { what: `${what} within`, json: `{"a":[${json}]}` };
      yield { what: `${what} as a key`, json: `{${json}:1}` };
    }
    yield { what: 'too deep', json: `{"a":${tooDeep}}` };
    yield { what: 'a number beyond the double range inside', json: '{"a":1e400}' };
    return;
  }
  if (types.has('string')) yield* wrongTexts(schema);
  if (types.has('number')) yield* wrongNumbers(schema);
  if (types.has('array')) yield* wrongLists(schema, sample);
  if (types.has('object')) yield* wrongObjects(schema, sample);
}
