import { inspect } from 'node:util';

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : inspect(value, { breakLength: Number.POSITIVE_INFINITY, customInspect: false });

/** Text of any thrown value, including objects that cannot be converted to text and errors with altered properties. */
export const thrownText = (thrown: unknown): string => asText(thrown instanceof Error ? thrown.message : thrown);

export const thrownName = ({ name }: Error): string => asText(name);

export const stackOf = ({ stack }: Error): string => (typeof stack === 'string' ? stack : '');
