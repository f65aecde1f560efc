export const escapeSegment = (segment: string): string => segment.replaceAll('~', '~0').replaceAll('/', '~1');
export const pointerOf = (...segments: readonly string[]): string =>
  segments.map((segment) => `/${escapeSegment(segment)}`).join('');
export const segmentsOfPointer = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
/** The entry that a path of the state names or reaches into. */
export const entryOf = (pointer: string): string => pointer.split('/').slice(0, 3).join('/');
