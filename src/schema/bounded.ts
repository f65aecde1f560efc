import { z } from 'zod';

/** Of no more entries than this every wrong one is told. */
const shortEntries = 20;
/** Of more the first few. */
const toldEntries = 5;

type LookAhead = Parameters<typeof z.preprocess>[0];
type Context = Parameters<LookAhead>[1];

/** Whether an entry is wrong. A schema would tell of each of millions, for minutes and in gigabytes. */
const tellFirstWrong = (
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
    if (++wrong === toldEntries) break;
  }
  return wrong > 0;
};

/** What looks ahead may be given nothing, and so passes for optional; what it looks at is not. */
const lookingAhead = <Schema extends z.ZodType>(lookAhead: LookAhead, schema: Schema): Schema => {
  const looking = z.preprocess(lookAhead, schema);
  Object.defineProperty(looking._zod, 'optin', { value: undefined });
  return looking as unknown as Schema;
};

export interface ListLimits {
  readonly min?: number;
  readonly max?: number;
  /** What is said of a value that is no such list. */
  readonly error?: string;
}

/** A list that is refused by its length before its entries are looked at, and by its first wrong entries before the others are. */
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
    return tellFirstWrong(entries, context) ? z.NEVER : value;
  };
  return lookingAhead(lookAhead, list);
};

/** A record that is refused by its first wrong entries before the others are looked at. */
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
    return tellFirstWrong(entries, context) ? z.NEVER : given;
  };
  return lookingAhead(lookAhead, record);
};
