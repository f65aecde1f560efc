/** The limits of one portion: the number of files open at the same time, and the bytes in memory. */
const maxFiles = 256;
const maxBytes = 16 * 1024 * 1024;

export function* inPortions<T>(items: Iterable<T>, bytesOf: (item: T) => number): Generator<readonly T[]> {
  let portion: T[] = [];
  let bytes = 0;
  for (const item of items) {
    if (portion.length === maxFiles || (portion.length > 0 && bytes + bytesOf(item) > maxBytes)) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(item);
    bytes += bytesOf(item);
  }
  if (portion.length > 0) yield portion;
}
