/** A value shorter than this is too likely to be an ordinary word. */
export const leastSecretChars = 8;
