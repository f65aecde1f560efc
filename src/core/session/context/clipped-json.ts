import type { Json } from '../../../schema/json.ts';
import { clip } from './clip.ts';

const isObject = (value: Json): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parts of a value's JSON. Strings are clipped, so that the parts of a huge string are small. */
function* pieces(value: Json, maxChars: number): Generator<string, void, void> {
  if (typeof value === 'string') return yield JSON.stringify(clip(value, maxChars));
  if (Array.isArray(value)) {
    yield '[';
    for (const [index, each] of value.entries()) {
      if (index > 0) yield ',';
      yield* pieces(each, maxChars);
    }
    return yield ']';
  }
  if (!isObject(value)) return yield JSON.stringify(value) ?? 'null';
  let before = '{';
  for (const name in value) {
    if (value[name] === undefined) continue;
    yield `${before}${JSON.stringify(clip(name, maxChars))}:`;
    yield* pieces(value[name], maxChars);
    before = ',';
  }
  yield before === ',' ? '}' : '{}';
}

/** The beginning of a value's JSON. The rest of a large value is not read. */
export const clippedJson = (value: Json, maxChars: number): string => {
  let text = '';
  for (const piece of pieces(value, maxChars + 1)) {
    text += piece;
    if (text.length > maxChars) return `${clip(text, maxChars - 1)}…`;
  }
  return text;
};
