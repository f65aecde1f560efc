/** The depth to which a value is split. States and lists of messages have their entries there or above. */
const splitDepth = 4;
/** A value of about this many characters is one piece. */
const pieceChars = 32 * 1024;
/** What a number, a name or a bracket counts. */
const smallChars = 16;

const textOf = (value: unknown): string => JSON.stringify(value) ?? 'null';

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !('toJSON' in value);

/** What is left of `room` beside the value, counted only until nothing is left. */
const roomBeside = (value: unknown, room: number): number => {
  if (typeof value === 'string') return room - smallChars - value.length;
  let left = room - smallChars;
  if (!isContainer(value)) return left;
  for (const name in value) {
    if (left < 0) return left;
    left = roomBeside((value as Record<string, unknown>)[name], left - name.length);
  }
  return left;
};

/**
 * Yields the JSON of a value in pieces, so that a large value can be encoded in steps. Together they are exactly what
 * `JSON.stringify` returns, and `null` for a bare `undefined`.
 */
export function* jsonSteps(value: unknown, depth = splitDepth): Generator<string, void, void> {
  if (depth === 0 || !isContainer(value) || roomBeside(value, pieceChars) >= 0) {
    yield textOf(value);
    return;
  }
  const isList = Array.isArray(value);
  let before = isList ? '[' : '{';
  for (const name of isList ? value.keys() : Object.keys(value)) {
    const each = (value as Record<string | number, unknown>)[name];
    if (!isList && (each === undefined || typeof each === 'function' || typeof each === 'symbol')) continue;
    yield `${before}${isList ? '' : `${JSON.stringify(name)}:`}`;
    yield* jsonSteps(each, depth - 1);
    before = ',';
  }
  yield before === ',' ? (isList ? ']' : '}') : textOf(isList ? [] : {});
}
