/** Truncates a text without splitting a surrogate pair. */
export const clip = (text: string, maxChars: number): string =>
  text.slice(0, Math.max(0, maxChars)).replace(/[\uD800-\uDBFF]$/, '');

export const shorten = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${clip(text, maxChars - 1)}…` : text;
