import type { RunId } from '../../schema/ids.ts';

/** A run's id, and the seq of the event that admitted it. */
export interface AdmittedRun {
  readonly id: RunId;
  readonly admittedAt: number;
}
