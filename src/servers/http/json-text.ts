/** Serializes to JSON, and a bare `undefined` to `null`. */
export const jsonText = (value: unknown): string => JSON.stringify(value) ?? 'null';
