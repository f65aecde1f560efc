/**
 * The minimum length of a secret. A shorter value is likely to occur in ordinary text, which redaction would then
 * remove.
 */
export const leastSecretChars = 8;
