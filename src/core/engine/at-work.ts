import { PerdureError } from '../../schema/error.ts';

/** Background services that are running. The runtime stops them when it closes. */
export type AtWork = Set<{ stop(): Promise<void> }>;

/** A stopped service stays stopped. `remedy` names the call that makes a new one. */
export const wasStopped = (who: string, remedy: string): PerdureError =>
  new PerdureError('RUNTIME_CLOSED', `the ${who} was stopped, or its runtime closed: make another with ${remedy}`);
