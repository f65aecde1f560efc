import { segmentsOfPointer } from './pointer.ts';
import { collections, Pointer } from './state.ts';

/**
 * Matches a name against a pattern in which `*` means any text. Greedy leftmost matching of the pieces is sufficient.
 */
const matchesName = (pattern: string, name: string): boolean => {
  const [first = '', ...pieces] = pattern.split('*');
  const last = pieces.pop();
  if (last === undefined) return pattern === name;
  const end = name.length - last.length;
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  return pieces.every((piece) => {
    const at = name.indexOf(piece, from);
    from = at + piece.length;
    return at >= 0 && from <= end;
  });
};

const parts = [...collections, 'own'];

const isPartName = (pattern: string): boolean => {
  const [first] = segmentsOfPointer(pattern);
  return first === undefined || first === '**' || parts.some((part) => matchesName(first, part));
};

/**
 * A JSON Pointer in which `*` means any text within one name, and a final `**` means everything below. It matches the
 * path itself, its ancestors and its descendants: `/plan/a` finds a change of `/plan/a/status`, and `/plan/a/status`
 * finds a replacement of `/plan/a`.
 */
export const PathPattern = Pointer.refine((pattern) => !/~(?![01])/.test(pattern), {
  error: 'in a name write ~1 for a slash and ~0 for a tilde',
})
  .refine((pattern) => !pattern.replace(/\/\*\*$/, '').includes('**'), {
    error: 'write ** only by itself at the end, for everything below; write * for any text within a name',
  })
  .refine((pattern) => segmentsOfPointer(pattern)[0] !== 'waiting', {
    error: 'waiting is computed when the state is read, so no commit touches it: read it with session.state',
  })
  .refine(isPartName, { error: `the state has no such part: it has ${parts.join(', ')}` });

export const matchesPattern = (pattern: string, path: string): boolean => {
  const found = segmentsOfPointer(path);
  return segmentsOfPointer(pattern.replace(/\/\*\*$/, ''))
    .slice(0, found.length)
    .every((segment, index) => matchesName(segment, found[index]!));
};

/** The prefix that an index can look up: the first two names of a pattern, up to the first star. */
export const indexedPrefix = (pattern: string): string => {
  const names = pattern.split('/').slice(1, 3).join('/');
  return `/${names.replace(/\*.*$/s, '').replace(/\/$/, '')}`;
};
