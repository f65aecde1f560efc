import { PerdureError } from '../../../schema/error.ts';
import { defaultMaxFileBytes } from '../../files/disk/snapshot.ts';

/** As bytes that are nobody else's: what the caller does with its own later changes nothing. */
export const contentBytes = (path: string, content: unknown): Uint8Array => {
  if (typeof content === 'string' ? !content.isWellFormed() : !(content instanceof Uint8Array)) {
    throw new PerdureError('INVALID_INPUT', `the content of ${path} is neither bytes nor Unicode text`);
  }
  const bytes = Buffer.from(content as string);
  if (bytes.length <= defaultMaxFileBytes) return bytes;
  throw new PerdureError(
    'PAYLOAD_TOO_LARGE',
    `${path} has ${bytes.length} bytes: a file of a session has at most ${defaultMaxFileBytes}`,
    { details: { path, bytes: bytes.length, maxBytes: defaultMaxFileBytes } },
  );
};
