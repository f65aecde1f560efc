import type { RunId, SessionId } from './ids.ts';
import type { Usage, WaitReason } from './run.ts';

/** The fields of the result of every run. */
export interface RunFields<Status extends string> {
  /** The id of the run. */
  readonly run: RunId;
  /** How the run ended, or its status while it waits or is paused. */
  readonly status: Status;
  /** The tokens used so far, and their cost if the price is known. */
  readonly usage: Usage;
}

/** A run that is in progress or queued. */
export interface RunUnderWay extends RunFields<'running'> {
  /** Set while no model answers. The run asks again by itself. */
  readonly waitingFor?: 'model' | undefined;
  /** Why no model answers, as text for people. */
  readonly reason?: string | undefined;
  /** The time at which the run asks again. */
  readonly until?: number | undefined;
}

export interface SucceededRun<Output = unknown> extends RunFields<'succeeded'> {
  /** The value that the agent's output schema describes, or text if the agent has no output schema. */
  readonly output: Output;
}

export interface FailedRun extends RunFields<'failed'> {
  /** The code is a RunFailureCode or an ErrorCode, or a code from another release. */
  readonly error: { readonly code: string; readonly message: string };
}

export interface CancelledRun extends RunFields<'cancelled'> {}

export interface WaitingRun extends RunFields<'waiting'> {
  /**
   * What the run waits for: `approval`, `question`, `budget`, `human` (a person holds the session), or `agent` (no
   * worker has the session's agent).
   */
  readonly waitingFor: Exclude<WaitReason, 'model'>;
  /** Why the run waits, as text for people. */
  readonly reason?: string | undefined;
  /** The session of the subagent that waits, if another session than this one waits. */
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
