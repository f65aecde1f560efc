import { randomBytes } from 'node:crypto';

/** The core's source of randomness, so that a test can inject its own. Secrets must not be generated with it. */
export interface Random {
  /** A number from 0 up to, but not including, 1. */
  readonly number: () => number;
  readonly bytes: (count: number) => Uint8Array;
}

export const systemRandom: Random = { number: () => Math.random(), bytes: (count) => randomBytes(count) };
