const patienceMs = 15_000;

/** Counts wake-ups, and lets a test wait for the next unseen one. */
export interface WakeSignal {
  readonly wake: () => void;
  readonly count: number;
  /** Resolves at the next wake-up, or immediately if one occurred since the last call. */
  next(): Promise<void>;
}

export const newWakeSignal = (): WakeSignal => {
  let count = 0;
  let seen = 0;
  let arrived = Promise.withResolvers<void>();
  return {
    wake: () => {
      count += 1;
      arrived.resolve();
    },
    get count() {
      return count;
    },
    next: async () => {
      if (count === seen) {
        const timer = setTimeout(() => arrived.reject(new Error(`no wake-up within ${patienceMs} ms`)), patienceMs);
        await arrived.promise.finally(() => clearTimeout(timer));
      }
      seen = count;
      arrived = Promise.withResolvers<void>();
    },
  };
};
