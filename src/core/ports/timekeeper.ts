import { type PauseOptions, pause } from '../../concurrency/pause.ts';
import { timerMs } from '../../schema/timer-limit.ts';
import { type Clock, systemClock } from './clock.ts';

export type CancelTimer = () => void;

export interface TimerOptions {
  /** Whether the timer keeps the process alive. */
  readonly keepsAlive?: boolean | undefined;
}

/** The core's only source of time and timers, so that a test can inject its own. */
export interface Timekeeper extends Clock {
  /** The time of a monotonic clock in milliseconds, for measuring durations. */
  elapsed(): number;
  /** Waits. Resolves early when the signal aborts, and never rejects. Keeps the process alive by default. */
  sleep(ms: number, options?: PauseOptions): Promise<void>;
  /** Calls `call` once after the delay. Does not keep the process alive. */
  after(ms: number, call: () => void): CancelTimer;
  /** Calls `call` repeatedly until the timer is cancelled. Does not keep the process alive by default. */
  every(ms: number, call: () => void, options?: TimerOptions): CancelTimer;
  /** Calls `call` in a later turn of the event loop, after waiting I/O. Keeps the process alive until then. */
  nextTurn(call: () => void): void;
  /** Returns a signal that aborts after the delay, with a TimeoutError. Does not keep the process alive. */
  timeout(ms: number): AbortSignal;
}

/** The timers of this process, with the given clock. */
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
  nextTurn: (call) => void setImmediate(call),
  timeout: (ms) => AbortSignal.timeout(timerMs(ms)),
});
