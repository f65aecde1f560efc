import { z } from 'zod';
import type { Route } from '../../../src/servers/http/route.ts';

/** Ids that name nothing. */
export const absentIds = {
  session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a',
  approval: 'apr_01jd3v8m9k5x7q2w4e6r8t0y1a',
} as const;
type IdKind = keyof typeof absentIds;

/** A field of a request that takes the id of a session or an approval. */
export interface IdField {
  readonly kind: IdKind;
  readonly in: 'path' | 'query' | 'body';
  /** The names from the outermost object to the field. */
  readonly path: readonly string[];
  readonly isList: boolean;
}

type Found = Pick<IdField, 'kind' | 'path' | 'isList'>;

const kindOf = (schema: z.core.$ZodType): IdKind | undefined => {
  const accepts = (text: string): boolean => z.safeParse(schema, text).success;
  if (accepts('zzz')) return undefined; // any text
  return (Object.keys(absentIds) as IdKind[]).find((kind) => accepts(absentIds[kind]));
};

/** Finds the fields by what their schemas accept, because descriptions and transformations wrap the ids. */
const fieldsOf = (schema: z.core.$ZodType, path: readonly string[] = [], isList = false): readonly Found[] => {
  const kind = kindOf(schema);
  if (kind) return [{ kind, path, isList }];
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape).flatMap(([name, each]) => fieldsOf(each, [...path, name], isList));
    case 'array':
      return fieldsOf(def.element, path, true);
    case 'union':
      return def.options.flatMap((each) => fieldsOf(each, path, isList));
    case 'optional':
    case 'nullable':
    case 'default':
    case 'readonly':
    case 'nonoptional':
    case 'prefault':
    case 'catch':
      return fieldsOf(def.innerType, path, isList);
    case 'pipe':
      return [...fieldsOf(def.in, path, isList), ...fieldsOf(def.out, path, isList)];
    case 'record':
      return fieldsOf(def.valueType, [...path, 'any'], isList);
    default:
      return [];
  }
};

const unique = (fields: readonly IdField[]): readonly IdField[] => [
  ...new Map(fields.map((field) => [JSON.stringify(field), field])).values(),
];

/** Every field of a route's request that names a session or an approval. */
export const idFieldsOf = ({ params = {}, query = {}, body }: Route): readonly IdField[] =>
  unique([
    ...fieldsOf(z.object(params)).map((field) => ({ ...field, in: 'path' as const })),
    ...fieldsOf(z.object(query)).map((field) => ({ ...field, in: 'query' as const })),
    ...(body && typeof body !== 'symbol' ? fieldsOf(body) : []).map((field) => ({ ...field, in: 'body' as const })),
  ]);

interface Sample {
  readonly address: string;
  readonly init: { readonly method: string; readonly body?: string; readonly headers?: Record<string, string> };
}

const withValue = (value: unknown, [name, ...rest]: readonly string[], id: unknown): unknown =>
  name === undefined ? id : { ...(value as object), [name]: withValue((value as never)?.[name], rest, id) };

/** The sample request with this id in the query or the body. */
export const withId = ({ address, init }: Sample, { in: place, path, isList }: IdField, id: string): Sample => {
  if (place === 'query') {
    const url = new URL(address, 'http://a');
    const [name] = path as [string];
    const [, ...others] = url.searchParams.getAll(name);
    url.searchParams.set(name, id);
    for (const each of others) url.searchParams.append(name, each);
    return { address: `${url.pathname}${url.search}`, init };
  }
  const body = withValue(JSON.parse(init.body ?? '{}'), path, isList ? [id] : id);
  return { address, init: { ...init, body: JSON.stringify(body) } };
};
