import { createHash, timingSafeEqual } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { isSecretOf, newSecret, type StoredKey } from './stored-key.ts';

vi.mock(import('node:crypto'), async (original) => {
  const crypto = await original();
  return { ...crypto, timingSafeEqual: vi.fn(crypto.timingSafeEqual) };
});

test('[PDK7] a secret has 32 bytes, and only its SHA-256 is compared, in constant time', () => {
  const { secret, secretHash } = newSecret();
  expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
  expect(secretHash).toBe(createHash('sha256').update(secret).digest('hex'));
  for (const given of [secret, newSecret().secret]) {
    vi.mocked(timingSafeEqual).mockClear();
    expect(isSecretOf({ secretHash } as StoredKey, given)).toBe(given === secret);
    expect(timingSafeEqual).toHaveBeenCalledOnce();
  }
});
