import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
export const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export interface SealingKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

export const sealingKey = (bytes: Uint8Array): SealingKey => ({
  id: hash('sha256', Buffer.concat([Buffer.from('perdure.key.1\n'), bytes]), 'hex').slice(0, 16),
  bytes,
});

export const newSealingKey = (): SealingKey => sealingKey(randomBytes(keyBytes));

/** The purpose and the key id are authenticated, so that sealed content cannot be used for another purpose. */
const placeOf = ({ id }: SealingKey, about: readonly string[]): Buffer =>
  Buffer.from(JSON.stringify(['perdure.sealed.1', id, ...about]));

export const seal = (key: SealingKey, about: readonly string[], content: Uint8Array): string => {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key.bytes, nonce, { authTagLength: tagBytes }).setAAD(placeOf(key, about));
  const sealed = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
};

/**
 * Decrypts sealed content. Throws if the content was sealed with another key or for another purpose, or was changed.
 */
export const unseal = (key: SealingKey, about: readonly string[], sealed: string): Uint8Array => {
  const bytes = Buffer.from(sealed, 'base64');
  const [nonce, tag] = [bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes, nonceBytes + tagBytes)];
  const decipher = createDecipheriv(algorithm, key.bytes, nonce, { authTagLength: tagBytes })
    .setAAD(placeOf(key, about))
    .setAuthTag(tag);
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
};
