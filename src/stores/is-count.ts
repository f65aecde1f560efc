/** Counters and times of ours. Anything else was put there by hand: PostgreSQL and SQLite keep more than a number of JavaScript holds. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
