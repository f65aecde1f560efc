import { createHash } from 'node:crypto';

/** Above this size, hashing in the thread pool is faster in spite of its overhead. */
const maxBytesAtOnce = 64 * 1024;

/**
 * Hashes the concatenated parts. Large ones are hashed in the thread pool, because they would block the event loop for
 * tens of milliseconds.
 */
export const sha256 = async (...parts: readonly Uint8Array[]): Promise<Uint8Array> => {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxBytesAtOnce) return new Uint8Array(await crypto.subtle.digest('SHA-256', Buffer.concat(parts)));
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
