import type { IncomingMessage } from 'node:http';
import { PerdureError } from '../../schema/error.ts';

/** Of one request. The server is to keep one more, so that nothing is dropped without a word. */
export const maxHeaders = 100;

export const refuseFlood = ({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): void => {
  if (rawHeaders.length <= 2 * maxHeaders) return;
  throw new PerdureError('INVALID_INPUT', `the request has more than ${maxHeaders} headers`);
};
