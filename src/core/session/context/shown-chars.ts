/** The length of a value as a model sees it: text as it is, anything else as JSON. */
export const shownChars = (value: unknown): number =>
  typeof value === 'string' ? value.length : JSON.stringify(value).length;
