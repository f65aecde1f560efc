import { PerdureError } from '../../schema/error.ts';
import { leastSecretChars } from '../../schema/least-secret-chars.ts';
import type { Secrets } from './scope.ts';

/** Rejects texts that contain a known secret, because records are stored unredacted. */
export const refuseSecrets = async (
  secrets: Pick<Secrets, 'redactor'>,
  what: string,
  ...texts: readonly (string | undefined)[]
): Promise<void> => {
  const long = texts.filter((text) => text !== undefined && text.length >= leastSecretChars) as readonly string[];
  if (long.length === 0) return;
  const redactor = await secrets.redactor();
  if (long.every((text) => redactor.text(text) === text)) return;
  throw new PerdureError('INVALID_INPUT', `${what} contains a secret, and is stored unredacted: leave the secret out`);
};
