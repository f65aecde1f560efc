import type { Json } from '../../../schema/json.ts';

const maxChars = 24_000;
const headChars = 12_000;
const tailChars = 6000;

/** What a model is given of a call's output: all of it, or of a large one its head and tail and the key to the rest, which names the event that holds it. */
export const shownToModel = (output: Json, seq: number): Json => {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (text.length <= maxChars) return output;
  const left = text.length - headChars - tailChars;
  const note = `[… ${left} of ${text.length} characters left out; recall output:${seq} for all of it …]`;
  return `${text.slice(0, headChars).toWellFormed()}\n${note}\n${text.slice(-tailChars).toWellFormed()}`;
};
