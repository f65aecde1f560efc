export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** The share of a delay that jitter does not change, by default 0. */
  readonly fixed?: number;
}

const maxDoublings = 50;

/** Shortens a delay at random by up to the share 1 - `fixed`, so that lockstep retries cannot starve each other. */
export const jittered = (ms: number, fixed: number, random: () => number): number =>
  ms * (fixed + (1 - fixed) * random());

/** Returns the delay after this many failures. Before jitter, the delay doubles from `firstMs` up to `maxMs`. */
export const backoffMs = (failures: number, { firstMs, maxMs, fixed = 0 }: Backoff, random: () => number): number =>
  jittered(Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, maxDoublings)), fixed, random);
