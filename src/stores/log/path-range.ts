/** As much of a path as every engine takes into an index. A longer one is found by so much of its beginning. */
const maxPathLength = 800;

/** Never in the middle of a character. */
export const clipPath = (path: string): string =>
  path.length > maxPathLength ? path.slice(0, maxPathLength).replace(/[\uD800-\uDBFF]$/, '') : path;

/** The first text after all that begin with the prefix, in the order of code points, which is that of UTF-8; undefined when none is. */
const afterPrefix = (prefix: string): string | undefined => {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = last.codePointAt(0)! + 1;
    if (next <= 0x10ffff) return points.join('') + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
  }
  return undefined;
};

/** Exactly the paths that begin so: from one text up to another that is not among them. An end that is left out does not bind. */
export const pathRange = (prefix = ''): { readonly from?: string | undefined; readonly below?: string | undefined } => {
  const from = clipPath(prefix);
  return from === '' ? {} : { from, below: afterPrefix(from) };
};
