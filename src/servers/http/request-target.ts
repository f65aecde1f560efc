import { PerdureError } from '../../schema/error.ts';

const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

const isText = (encoded: string): boolean => {
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
};

/**
 * Refuses addresses that two parsers could read differently. Otherwise a request could reach a route that a proxy in
 * front of the server has blocked.
 */
export const refuseOddTarget = (target: string): void => {
  const [path = ''] = target.split('?', 1);
  if (path.startsWith('/') && !/[\\#]/.test(target) && !dotSegment.test(path) && isText(target)) return;
  throw new PerdureError(
    'INVALID_INPUT',
    'the address is ambiguous: send a path without \\, # and the segments . and .., percent-encoded as UTF-8',
  );
};
