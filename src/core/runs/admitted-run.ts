import type { RunId } from '../../schema/ids.ts';

/** What leads to a run: its id, and the event that admitted it. */
export interface AdmittedRun {
  readonly id: RunId;
  readonly admittedAt: number;
}
