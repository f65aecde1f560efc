import type { IncomingMessage } from 'node:http';
import { PerdureError } from '../../schema/error.ts';

/**
 * Maximum headers of a request. The parser must keep one more, so that an excess header is seen and not dropped
 * silently.
 */
export const maxHeaders = 100;

export const refuseFlood = ({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): void => {
  if (rawHeaders.length <= 2 * maxHeaders) return;
  throw new PerdureError('INVALID_INPUT', `the request has more than ${maxHeaders} headers`);
};
