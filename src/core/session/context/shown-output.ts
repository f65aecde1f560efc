import type { Json } from '../../../schema/json.ts';

const maxChars = 24_000;
const headChars = 12_000;
const tailChars = 6000;

/**
 * The output of a call as the model receives it. A large output is cut to its head and tail, with a recall key that
 * names its event.
 */
export const shownToModel = (output: Json, seq: number): Json => {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (text.length <= maxChars) return output;
  const left = text.length - headChars - tailChars;
  const note = `[… ${left} of ${text.length} characters left out; recall output:${seq} for all of it …]`;
  return `${text.slice(0, headChars).toWellFormed()}\n${note}\n${text.slice(-tailChars).toWellFormed()}`;
};
