import { type PauseOptions, pause } from '../../concurrency/pause.ts';
import { timerMs } from '../../schema/timer-limit.ts';
import { type Clock, systemClock } from './clock.ts';

export type CancelTimer = () => void;

export interface TimerOptions {
  /** The process stays alive for this timer. */
  readonly keepsAlive?: boolean | undefined;
}

/** All time that the core knows, so that a test can run it by a clock and timers of its own. */
export interface Timekeeper extends Clock {
  /** Milliseconds since an unknown moment, by a clock that is never set back. For durations. */
  elapsed(): number;
  /** Ends early when the signal is aborted, and never fails. The process stays alive for it unless told otherwise. */
  sleep(ms: number, options?: PauseOptions): Promise<void>;
  /** Calls once. The process does not stay alive for it. */
  after(ms: number, call: () => void): CancelTimer;
  /** Calls again and again until it is cancelled. The process does not stay alive for it unless told otherwise. */
  every(ms: number, call: () => void, options?: TimerOptions): CancelTimer;
  /** A signal that is aborted with a TimeoutError. The process does not stay alive for it. */
  timeout(ms: number): AbortSignal;
}

/** The timers of this process, beside the given clock. */
export const systemTimekeeper = (clock: Clock = systemClock): Timekeeper => ({
  now: () => clock.now(),
  elapsed: () => performance.now(),
  sleep: (ms, options) => pause(timerMs(ms), options),
  after: (ms, call) => {
    const timer = setTimeout(call, timerMs(ms)).unref();
    return () => clearTimeout(timer);
  },
  every: (ms, call, { keepsAlive = false } = {}) => {
    const timer = setInterval(call, timerMs(ms));
    if (!keepsAlive) timer.unref();
    return () => clearInterval(timer);
  },
  timeout: (ms) => AbortSignal.timeout(timerMs(ms)),
});
