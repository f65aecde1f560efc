import { z } from 'zod';

/** The maximum length of lists and records that report every invalid entry. */
const shortEntries = 20;
/** The number of invalid entries that longer lists and records report. */
const reportedEntries = 5;

type LookAhead = Parameters<typeof z.preprocess>[0];
type Context = Parameters<LookAhead>[1];

/**
 * Reports the first invalid entries, and returns whether there are any. Without this, zod would report each of
 * millions of entries, which takes minutes and gigabytes.
 */
const reportFirstInvalid = (
  entries: Iterable<readonly [place: PropertyKey, schema: z.ZodType, value: unknown]>,
  context: Context,
): boolean => {
  let wrong = 0;
  for (const [place, schema, value] of entries) {
    const { error } = schema.safeParse(value);
    if (!error) continue;
    for (const issue of error.issues) {
      context.issues.push({ ...issue, path: [place, ...issue.path], input: undefined } as z.core.$ZodRawIssue);
    }
    if (++wrong === reportedEntries) break;
  }
  return wrong > 0;
};

/**
 * Runs `lookAhead` before the schema. `z.preprocess` marks its input as optional, so resetting `optin` keeps the field
 * required.
 */
const lookingAhead = <Schema extends z.ZodType>(lookAhead: LookAhead, schema: Schema): Schema => {
  const looking = z.preprocess(lookAhead, schema);
  Object.defineProperty(looking._zod, 'optin', { value: undefined });
  return looking as unknown as Schema;
};

export interface ListLimits {
  readonly min?: number;
  readonly max?: number;
  /** The message for a value that is not a list. */
  readonly error?: string;
}

/** A schema for lists. It checks the length before any entry, and stops after the first few invalid entries. */
export const listOf = <Entry extends z.ZodType>(entry: Entry, limits: ListLimits = {}) => {
  const { min = 0, max = Number.POSITIVE_INFINITY, error } = limits;
  const ofEntries = z.array(entry, error);
  const longEnough = min > 0 ? ofEntries.min(min) : ofEntries;
  const list: z.ZodType<z.output<Entry>[], z.input<Entry>[]> = Number.isFinite(max) ? longEnough.max(max) : longEnough;
  const lookAhead: LookAhead = (value, context) => {
    if (!Array.isArray(value) || value.length <= shortEntries) return value;
    if (value.length > max) {
      context.issues.push({ code: 'too_big', origin: 'array', maximum: max, inclusive: true, input: value });
      return z.NEVER;
    }
    const entries = value.entries().map(([index, each]) => [index, entry, each] as const);
    return reportFirstInvalid(entries, context) ? z.NEVER : value;
  };
  return lookingAhead(lookAhead, list);
};

/** A schema for records that stops checking after the first few invalid entries. */
export const bounded = <Schema extends z.ZodRecord>(record: Schema): Schema => {
  const lookAhead: LookAhead = (given, context) => {
    if (typeof given !== 'object' || given === null) return given;
    const names = Object.keys(given);
    if (names.length <= shortEntries) return given;
    const { keyType, valueType } = record as unknown as { readonly keyType: z.ZodType; readonly valueType: z.ZodType };
    const fields = given as Readonly<{ [name: string]: unknown }>;
    const entries = names
      .values()
      .flatMap((name) => [[name, keyType, name] as const, [name, valueType, fields[name]] as const]);
    return reportFirstInvalid(entries, context) ? z.NEVER : given;
  };
  return lookingAhead(lookAhead, record);
};
