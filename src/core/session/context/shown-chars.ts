/** How long a value is for a model, which reads a text as it is and all else as JSON. */
export const shownChars = (value: unknown): number =>
  typeof value === 'string' ? value.length : JSON.stringify(value).length;
