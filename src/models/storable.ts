/** Replaces U+0000 and lone surrogates, which a log cannot store. */
export const storable = (text: string): string => text.replaceAll('\u0000', '\uFFFD').toWellFormed();
