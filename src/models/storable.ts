/** No log can keep U+0000 or half a surrogate pair. */
export const storable = (text: string): string => text.replaceAll('\u0000', '\uFFFD').toWellFormed();
