export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** The share of a delay that jitter does not change, by default 0. */
  readonly fixed?: number;
}

const maxDoublings = 50;

/** Shortens a delay by up to 1 - `fixed` of it, so that lockstep retries cannot starve each other. */
export const jittered = (ms: number, fixed: number, random: () => number): number =>
  ms * (fixed + (1 - fixed) * random());

/** The delay after this many failures. It doubles from `firstMs` to `maxMs`, before jitter. */
export const backoffMs = (failures: number, { firstMs, maxMs, fixed = 0 }: Backoff, random: () => number): number =>
  jittered(Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, maxDoublings)), fixed, random);
