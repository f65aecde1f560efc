export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** The part of a delay that jitter leaves as it is; 0 unless told. */
  readonly fixed?: number;
}

const maxDoublings = 50;

/** Takes up to 1 - `fixed` of a delay away, so that lockstep retries cannot starve each other. */
export const jittered = (ms: number, fixed: number, random: () => number): number =>
  ms * (fixed + (1 - fixed) * random());

/** The delay after so many failures: it doubles from `firstMs` to `maxMs`, before jitter. */
export const backoffMs = (failures: number, { firstMs, maxMs, fixed = 0 }: Backoff, random: () => number): number =>
  jittered(Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, maxDoublings)), fixed, random);
