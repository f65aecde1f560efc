import { PerdureError } from '../../schema/error.ts';

/** What works beside its callers, from the beginning of its work to the end: to be stopped when the runtime closes. */
export type RunningServices = Set<{ stop(): Promise<void> }>;

/** Whoever was stopped stays so. `remedy` says how there will be another. */
export const serviceStopped = (who: string, remedy: string): PerdureError =>
  new PerdureError('RUNTIME_CLOSED', `the ${who} was stopped, or its runtime closed: make another with ${remedy}`);
