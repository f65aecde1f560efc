import { segmentsOfPointer } from './pointer.ts';
import { collections, Pointer } from './state.ts';

/** In a name `*` stands for any text. Takes the first place where each piece fits, which is as good as any other. */
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
 * A JSON Pointer with `*` for any text within one name and `**` at its end for any below. It matches what stands there, above it and below
 * it: who asks for `/plan/a` is told of `/plan/a/status`, and who asks for that is told that `/plan/a` was replaced.
 */
export const PathPattern = Pointer.refine((pattern) => !/~(?![01])/.test(pattern), {
  error: 'in a name write ~1 for a slash and ~0 for a tilde',
})
  .refine((pattern) => !pattern.replace(/\/\*\*$/, '').includes('**'), {
    error: '** stands for all that is below, by itself at the end; * stands for any text within a name',
  })
  .refine(isPartName, { error: `the state has no such part: it has ${parts.join(', ')}` });

export const matchesPattern = (pattern: string, path: string): boolean => {
  const found = segmentsOfPointer(path);
  return segmentsOfPointer(pattern.replace(/\/\*\*$/, ''))
    .slice(0, found.length)
    .every((segment, index) => matchesName(segment, found[index]!));
};

/** What an index can look up of a pattern: its first two names, as far as they hold no star. */
export const indexedPrefix = (pattern: string): string => {
  const names = pattern.split('/').slice(1, 3).join('/');
  return `/${names.replace(/\*.*$/s, '').replace(/\/$/, '')}`;
};
