import { createHmac, hash } from 'node:crypto';

/** Returns the value with sorted keys at every level, so that equal values have equal JSON. */
export const canonical = (value: unknown): unknown => {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(canonical);
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, canonical((value as Record<string, unknown>)[key])]),
  );
};

/**
 * Hashes an input with the session's input key, independent of the order of its keys. Equal hashes show repeated
 * inputs within a session without revealing their content.
 */
export const inputHash = (inputKey: string, input: unknown): string =>
  createHmac('sha256', Buffer.from(inputKey, 'hex'))
    .update(JSON.stringify(canonical(input)) ?? 'null')
    .digest('hex');

export const outputHash = (output: unknown): string => hash('sha256', JSON.stringify(output) ?? 'null', 'hex');
