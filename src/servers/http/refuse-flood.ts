import type { IncomingMessage } from 'node:http';
import { PerdureError } from '../../schema/error.ts';

/**
 * Maximum number of headers in a request. The HTTP parser must keep one more, because it drops excess headers
 * silently and the excess must be detected.
 */
export const maxHeaders = 100;

export const refuseFlood = ({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): void => {
  if (rawHeaders.length <= 2 * maxHeaders) return;
  throw new PerdureError('INVALID_INPUT', `the request has more than ${maxHeaders} headers`);
};
