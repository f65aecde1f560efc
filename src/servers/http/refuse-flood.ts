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

/**
 * Refuses transfer encodings other than `chunked` alone. Node reads `x, chunked` as chunked, and a proxy in front may
 * not, so that the rest of the body would be read as another request.
 */
export const refuseOddEncoding = (
  { headers }: Pick<IncomingMessage, 'headers'>,
  outgoing: { shouldKeepAlive: boolean },
): void => {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'chunked') return;
  outgoing.shouldKeepAlive = false;
  throw new PerdureError('INVALID_INPUT', 'the only transfer encoding that the server accepts is chunked');
};
