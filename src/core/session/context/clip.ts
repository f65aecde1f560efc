/** Never in the middle of a character. */
export const clip = (text: string, maxChars: number): string =>
  text.slice(0, Math.max(0, maxChars)).replace(/[\uD800-\uDBFF]$/, '');

export const shorten = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${clip(text, maxChars - 1)}…` : text;
