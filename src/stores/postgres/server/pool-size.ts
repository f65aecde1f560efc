import { PerdureError } from '../../../schema/error.ts';

const mostConnections = 1000;

/** `name` is the setting and `given` its original value, for the error. */
export const checkPoolSize = (name: string, size: number, given: unknown): number => {
  if (Number.isInteger(size) && size >= 1 && size <= mostConnections) return size;
  throw new PerdureError(
    'INVALID_INPUT',
    `${name} must be a whole number from 1 to ${mostConnections}, such as 8; got "${given}"`,
  );
};
