import { randomBytes } from 'node:crypto';

/** Chance that the core may be given by a test. What must be secret does not come from here. */
export interface Random {
  /** From 0 to 1, without 1. */
  readonly number: () => number;
  readonly bytes: (count: number) => Uint8Array;
}

export const systemRandom: Random = { number: () => Math.random(), bytes: (count) => randomBytes(count) };
