type Token = 'name' | 'folders' | 'anything' | { readonly takes: (char: string) => boolean };

const parts = /(?<=^|\/)\*{2,}\/|\/\*{2,}$|\*+|\?|\[[!^]?\]?[^\]/]*\]|\\?./gsu;

const classOf = (part: string): Token => {
  const [, not, chars] = /^\[([!^]?)(.*)\]$/su.exec(part) as unknown as [string, string, string];
  const set = new RegExp(`[${not && '^'}${chars.replace(/[\]\\^[]/g, '\\$&')}]`, 'u');
  return { takes: (char) => char !== '/' && set.test(char) };
};

const tokensOf = (part: string, glob: string): readonly Token[] => {
  if (/^\*\*+\/$/.test(part)) return ['folders'];
  if (/^\/\*\*+$/.test(part)) return [{ takes: (char) => char === '/' }, 'anything'];
  if (part.startsWith('*')) return [part === glob && part !== '*' ? 'anything' : 'name'];
  if (part === '?') return [{ takes: (char) => char !== '/' }];
  if (part.startsWith('[') && part.length > 2) return [classOf(part)];
  const wanted = part.replace(/^\\(?=.)/s, '');
  return [{ takes: (char) => char === wanted }];
};

/** Adds a position in the tokens, and the following positions that can be reached without reading a character. */
const enter = (tokens: readonly Token[], places: Set<number>, place: number): void => {
  if (places.has(place)) return;
  places.add(place);
  if (typeof tokens[place] === 'string') enter(tokens, places, place + 1);
};

const step = (tokens: readonly Token[], places: ReadonlySet<number>, char: string): Set<number> => {
  const next = new Set<number>();
  for (const place of places) {
    const token = tokens[place];
    if (token === 'folders') {
      next.add(place);
      if (char === '/') enter(tokens, next, place + 1);
    } else if (token === 'anything' || (token === 'name' && char !== '/')) enter(tokens, next, place);
    else if (typeof token === 'object' && token.takes(char)) enter(tokens, next, place + 1);
  }
  return next;
};

/** Returns a fast test for simple globs: a name, or a name with one star. Returns undefined for other globs. */
const plainTest = (glob: string): ((path: string) => boolean) | undefined => {
  if (/[?[\\]|\*.*\*/s.test(glob)) return undefined;
  const [head, tail] = glob.split('*') as [string, string?];
  if (tail === undefined) return (path) => path === head;
  return (path) =>
    path.length >= head.length + tail.length &&
    path.startsWith(head) &&
    path.endsWith(tail) &&
    !path.slice(head.length, path.length - tail.length).includes('/');
};

/**
 * Compiles a glob of .gitignore syntax. Matching never backtracks, because names and globs come from untrusted sources.
 */
export const compileGlob = (glob: string): ((path: string) => boolean) => {
  const plain = plainTest(glob);
  if (plain) return plain;
  const tokens = (glob.match(parts) ?? []).flatMap((part) => tokensOf(part, glob));
  return (path) => {
    let places = new Set<number>();
    enter(tokens, places, 0);
    for (const char of path) places = step(tokens, places, char);
    return places.has(tokens.length);
  };
};
