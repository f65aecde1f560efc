/** The longest path prefix that every engine can index. A longer path is found by this prefix. */
const maxPathLength = 800;

/** Clips a path to the longest indexed prefix, and never inside a surrogate pair. */
export const clipPath = (path: string): string =>
  path.length > maxPathLength ? path.slice(0, maxPathLength).replace(/[\uD800-\uDBFF]$/, '') : path;

/**
 * The first text after all texts with the prefix, in code point order, which is also UTF-8 byte order; undefined when
 * there is none.
 */
const afterPrefix = (prefix: string): string | undefined => {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = last.codePointAt(0)! + 1;
    if (next <= 0x10ffff) return points.join('') + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
  }
  return undefined;
};

/**
 * The half-open range `from` ≤ path < `below` that contains exactly the paths with this prefix. An absent bound does
 * not restrict.
 */
export const pathRange = (prefix = ''): { readonly from?: string | undefined; readonly below?: string | undefined } => {
  const from = clipPath(prefix);
  return from === '' ? {} : { from, below: afterPrefix(from) };
};
