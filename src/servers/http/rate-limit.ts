import { BoundedMap } from '../../concurrency/bounded-map.ts';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const maxBuckets = 10_000;

/** A token bucket for each name, kept in the memory of this process. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #now: () => number;
  /** The bucket that was unused for longest is evicted first. It has refilled by then, so nothing is lost. */
  readonly #buckets = new BoundedMap<string, Bucket>(maxBuckets);

  constructor(rate: Rate, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Returns the seconds to wait, or undefined when the request may proceed. */
  take(name: string): number | undefined {
    const bucket = this.#refilled(name);
    this.#buckets.set(name, bucket);
    if (bucket.tokens < 1) return this.#secondsOf(bucket);
    bucket.tokens--;
    return undefined;
  }

  /** Like `take`, but takes nothing. */
  wouldWait(name: string): number | undefined {
    const bucket = this.#refilled(name);
    return bucket.tokens < 1 ? this.#secondsOf(bucket) : undefined;
  }

  #refilled(name: string): Bucket {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    return bucket;
  }

  #secondsOf({ tokens }: Bucket): number {
    return Math.ceil((1 - tokens) / this.#rate.perSecond);
  }
}
