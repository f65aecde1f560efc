import { PerdureError } from '../../schema/error.ts';
import type { SessionKey } from '../ports/store.ts';
import { turnAside } from './execute.ts';

const maxAttempts = 20;

/** Undefined where somebody else got in between. */
export type Landed<T> = { readonly as: T } | undefined;

/** Tries again where somebody else gets in between, so often at most: then it is CONFLICT. */
export const untilItLands = async <T>(key: SessionKey, attempt: (before: number) => Promise<Landed<T>>): Promise<T> => {
  for (let before = 0; before < maxAttempts; before++) {
    const landed = await attempt(before);
    if (landed) return landed.as;
    await turnAside(before);
  }
  throw new PerdureError('CONFLICT', `${key.session} kept changing: try again when it is quieter`, {
    details: { ...key, attempts: maxAttempts },
  });
};
