import { inspect } from 'node:util';

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : inspect(value, { breakLength: Number.POSITIVE_INFINITY, customInspect: false });

/** What was thrown, which can be anything: objects that cannot be made text too, and errors that somebody has altered. */
export const thrownText = (thrown: unknown): string => asText(thrown instanceof Error ? thrown.message : thrown);

export const thrownName = ({ name }: Error): string => asText(name);

export const stackOf = ({ stack }: Error): string => (typeof stack === 'string' ? stack : '');
