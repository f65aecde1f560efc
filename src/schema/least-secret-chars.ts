/**
 * The minimum length of a secret. A shorter value is too likely to be an ordinary word, which redaction would remove.
 */
export const leastSecretChars = 8;
