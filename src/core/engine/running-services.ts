import { PerdureError } from '../../schema/error.ts';

/** Background services that are running. The runtime stops them when it closes. */
export type RunningServices = Set<{ stop(): Promise<void> }>;

/** Whoever was stopped stays so. `remedy` says how there will be another. */
export const serviceStopped = (who: string, remedy: string): PerdureError =>
  new PerdureError('RUNTIME_CLOSED', `the ${who} was stopped, or its runtime closed: make another with ${remedy}`);
