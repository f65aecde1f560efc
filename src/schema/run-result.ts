import type { RunId, SessionId } from './ids.ts';
import type { Usage, WaitReason } from './run.ts';

/** The fields of every result. */
export interface RunFields<Status extends string> {
  /** The id of the run. */
  readonly run: RunId;
  /** How it ended, or how it rests. */
  readonly status: Status;
  /** The tokens that it used so far, and what they cost where the price is known. */
  readonly usage: Usage;
}

/** A run that is at work, or is to be. */
export interface RunUnderWay extends RunFields<'running'> {}

export interface SucceededRun<Output = unknown> extends RunFields<'succeeded'> {
  /** The value that the agent's output schema gives; text where the agent has none. */
  readonly output: Output;
}

export interface FailedRun extends RunFields<'failed'> {
  /** The code is a RunFailureCode or an ErrorCode, or that of another release. */
  readonly error: { readonly code: string; readonly message: string };
}

export interface CancelledRun extends RunFields<'cancelled'> {}

export interface WaitingRun extends RunFields<'waiting'> {
  /** `approval`, `question`, `budget`, `human` (a person holds the session), or `agent` (no worker has its agent). */
  readonly waitingFor: Exclude<WaitReason, 'model'>;
  /** Why it waits, for people. */
  readonly reason?: string | undefined;
  /** The session of a subagent that waits, when it is not this one. */
  readonly waitsIn?: SessionId | undefined;
}

/** Its session is paused. */
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

/** Whether it has ended, waits for somebody or is paused. */
export const isAtRest = <Output>(run: RunResult<Output> | RunUnderWay): run is RunResult<Output> =>
  run.status !== 'running';
