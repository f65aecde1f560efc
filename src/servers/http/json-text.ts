/** As JSON; `undefined` in it is left out, as everywhere. */
export const jsonText = (value: unknown): string => JSON.stringify(value) ?? 'null';
