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

/** What two readers of an address would take for two things is refused, so that nobody is led elsewhere than a proxy before us let them. */
export const refuseOddTarget = (target: string): void => {
  const [path = ''] = target.split('?', 1);
  if (path.startsWith('/') && !/[\\#]/.test(target) && !dotSegment.test(path) && isText(target)) return;
  throw new PerdureError(
    'INVALID_INPUT',
    'the address is not one that all read alike: send a path without . and .., with all else than UTF-8 and plain characters encoded',
  );
};
