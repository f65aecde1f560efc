import { createHmac, hash } from 'node:crypto';

/** With keys in one order, so that equal values have equal text. */
export const canonical = (value: unknown): unknown => {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(canonical);
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, canonical((value as Record<string, unknown>)[key])]),
  );
};

/** The same for the same input whatever the order of its keys, and for no other session: it tells repetition, not content. */
export const inputHash = (inputKey: string, input: unknown): string =>
  createHmac('sha256', Buffer.from(inputKey, 'hex'))
    .update(JSON.stringify(canonical(input)) ?? 'null')
    .digest('hex');

export const outputHash = (output: unknown): string => hash('sha256', JSON.stringify(output) ?? 'null', 'hex');
