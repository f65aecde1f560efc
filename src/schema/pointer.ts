export const escapeSegment = (segment: string): string => segment.replaceAll('~', '~0').replaceAll('/', '~1');
export const pointerOf = (...segments: readonly string[]): string =>
  segments.map((segment) => `/${escapeSegment(segment)}`).join('');
const unescapeSegment = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~');
export const segmentsOfPointer = (pointer: string): readonly string[] => {
  const segments = pointer.split('/').slice(1);
  return pointer.includes('~') ? segments.map(unescapeSegment) : segments;
};
/** The entry of the state that contains a path: `/plan/a` for `/plan/a/status`. */
export const entryOf = (pointer: string): string => pointer.split('/').slice(0, 3).join('/');
