import { PerdureError } from '../../schema/error.ts';

/** Background services that are running. The runtime stops them when it closes. */
export type RunningServices = Set<{ stop(): Promise<void> }>;

/** The error for starting a service that was stopped. `remedy` says how to create another. */
export const serviceStopped = (who: string, remedy: string): PerdureError =>
  new PerdureError('RUNTIME_CLOSED', `the ${who} was stopped, or its runtime closed: make another with ${remedy}`);
