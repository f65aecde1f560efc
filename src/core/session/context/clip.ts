/** Truncates a text without splitting a surrogate pair. */
export const clip = (text: string, maxChars: number): string =>
  text.slice(0, Math.max(0, maxChars)).replace(/[\uD800-\uDBFF]$/, '');

export const shorten = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${clip(text, maxChars - 1)}…` : text;

/** The beginning and the end of a text, together at most `maxChars` long. */
export const endsWithin = (text: string, maxChars: number): readonly [head: string, tail: string] => {
  const chars = Math.max(0, Math.floor(maxChars));
  const tailChars = Math.floor(chars / 3);
  const tail = tailChars > 0 ? text.slice(-tailChars).replace(/^[\uDC00-\uDFFF]/, '') : '';
  return [clip(text, chars - tailChars), tail];
};
