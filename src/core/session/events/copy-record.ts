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

/** Copies of records that nothing else refers to yet, so that folding many events copies each record once. */
export class OwnCopies {
  #own = new WeakSet<object>();

  /** Returns a copy that may be changed: the record itself, if it is such a copy. */
  edit<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
    if (this.#own.has(record)) return record;
    const copy = copyRecord(record);
    this.#own.add(copy);
    return copy;
  }

  /** Gives all copies away. They must not be changed from now on. */
  release(): void {
    this.#own = new WeakSet();
  }
}
