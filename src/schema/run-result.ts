import type { RunId, SessionId } from './ids.ts';
import type { Usage, WaitReason } from './run.ts';

/** The fields of every result. */
export interface RunFields<Status extends string> {
  /** The id of the run. */
  readonly run: RunId;
  /** How the run ended, or the state in which it rests. */
  readonly status: Status;
  /** The tokens used so far, and their cost if the price is known. */
  readonly usage: Usage;
}

/** A run that is in progress or queued. */
export interface RunUnderWay extends RunFields<'running'> {}

export interface SucceededRun<Output = unknown> extends RunFields<'succeeded'> {
  /** The value that the agent's output schema describes, or text if the agent has none. */
  readonly output: Output;
}

export interface FailedRun extends RunFields<'failed'> {
  /** The code is a RunFailureCode or an ErrorCode, or one from another release. */
  readonly error: { readonly code: string; readonly message: string };
}

export interface CancelledRun extends RunFields<'cancelled'> {}

export interface WaitingRun extends RunFields<'waiting'> {
  /** `approval`, `question`, `budget`, `human` (a person holds the session), or `agent` (no worker has its agent). */
  readonly waitingFor: Exclude<WaitReason, 'model'>;
  /** Why it waits, for people. */
  readonly reason?: string | undefined;
  /** The session of the subagent that waits, if it is not this one. */
  readonly waitsIn?: SessionId | undefined;
}

/** A run whose session is paused. */
export interface PausedRun extends RunFields<'paused'> {}

export type EndedRun<Output = unknown> = SucceededRun<Output> | FailedRun | CancelledRun;

export type RunResult<Output = unknown> = EndedRun<Output> | WaitingRun | PausedRun;

const ends: Readonly<Record<RunResult['status'] | RunUnderWay['status'], boolean>> = {
  running: false,
  waiting: false,
  paused: false,
  succeeded: true,
  failed: true,
  cancelled: true,
};

export const hasEnded = <Output>(run: RunResult<Output> | RunUnderWay): run is EndedRun<Output> => ends[run.status];

/** Whether the run has ended, waits for someone, or is paused. */
export const isAtRest = <Output>(run: RunResult<Output> | RunUnderWay): run is RunResult<Output> =>
  run.status !== 'running';
