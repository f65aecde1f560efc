/** The number of keys above which V8 stores an object as a hash table. */
const manyKeys = 128;

/**
 * Like `{ ...record }`, but several times faster for a thousand keys: it fills an object that is a hash table from the
 * start.
 */
export const copyRecord = <Value>(record: Readonly<Record<string, Value>>): Record<string, Value> => {
  const keys = Object.keys(record);
  if (keys.length <= manyKeys) return { ...record };
  const copy: Record<string, Value> = Object.create(null);
  for (const key of keys) copy[key] = record[key]!;
  return Object.setPrototypeOf(copy, Object.prototype);
};
