/**
 * As `{ ...record }`, which takes a hundred times as long for a thousand keys where records of many shapes come by. What is no good for
 * `Object.assign` is a key that it would set the prototype with.
 */
export const copyRecord = <Value>(record: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.hasOwn(record, '__proto__') ? { ...record } : Object.assign({}, record);
