import { AsyncLocalStorage } from 'node:async_hooks';

/*
 * Shares the event loop of this process. Long work calls `slice` between its steps. When the work has had its slice, it
 * waits until the loop has handled what else is waiting. One slice runs at a time, in turns between the owners.
 *
 *   running ──slice() is due──▶ waiting ──its owner's turn, no light work waiting──▶ running
 */

/** Long work of one caller. It is found through the async context, because every loop over a log belongs to one. */
export interface Work {
  /** Owners take turns, however much work each has: the workspace. */
  readonly owner?: string | undefined;
  /** Aborted when nobody waits for the result. The next `slice` then throws. */
  readonly signal?: AbortSignal | undefined;
  /** Called once, before the work takes more than its free time. Waits for a slot, or rejects the work. */
  readonly admit?: (() => Promise<void>) | undefined;
  /** The time that the work takes before it must be admitted. Reads of small sessions never reach it. */
  readonly freeMs?: number | undefined;
}

/** The time and the turns of an event loop, so that a test can inject its own. */
export interface LoopTime {
  /** The time of a monotonic clock in milliseconds. */
  elapsed(): number;
  /** Calls `call` after the loop has handled the I/O that is waiting. */
  afterTurn(call: () => void): void;
  after(ms: number, call: () => void): void;
}

const sliceMs = 1;
/** Steps that take less time than this in all are not interrupted, because a turn of the loop costs more. */
const briefMs = 0.25;
export const defaultFreeMs = 50;
/** The rest between two slices while light work is waiting. A step that takes longer is followed by as long a rest. */
const restMs = 4;
const maxRestMs = 50;
/** The time during which light work has priority. Requests that wait for something else take longer. */
const lightMs = 20;

/** What work has used so far. Work within other work shares its meter. */
interface Meter {
  spentMs: number;
  /** Admission of the work, begun once. */
  admission?: Promise<void> | undefined;
  isAdmitted: boolean;
  /** Set when the work has taken a whole slice. From then on it waits for each slice in line. */
  isLong: boolean;
  /** Ends the priority of light work. */
  readonly endPriority: () => void;
}

interface Running {
  readonly work: Work;
  readonly meter: Meter;
  /** Set when the work has ended, because its async context may live on in what it started. */
  isOver: boolean;
}

const mustAsk = ({ work: { admit, freeMs = defaultFreeMs }, meter: { isAdmitted, spentMs } }: Running): boolean =>
  admit !== undefined && !isAdmitted && spentMs >= freeMs;

/** Reads of one owner that are in flight, and those that wait. */
interface Lane {
  reads: number;
  readonly waiting: (() => void)[];
}

const readsAtOnce = 2;
const noOwner = '';

export class EventLoop {
  readonly #time: LoopTime;
  readonly #running = new AsyncLocalStorage<Running | undefined>();
  /** Work that waits for its next slice, by owner. The first owner is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #lanes = new Map<string, Lane>();
  /** When the loop began the sliced work of its current turn. */
  #turnBegan: number | undefined;
  /** The time up to which work has been charged. */
  #chargedTo = 0;
  #isTurnDue = false;
  #isResting = false;
  /** Until when long work rests while light work is waiting. */
  #restUntil = 0;
  #light = 0;
  #lastLightAt = 0;

  constructor(time: LoopTime) {
    this.#time = time;
  }

  /** Runs work under its owner, signal and admission. It ends them when it returns, also for what it started. */
  async during<T>(work: Work, run: () => Promise<T>): Promise<T> {
    const outer = this.#current();
    const signals = [outer?.work.signal, work.signal].filter((signal) => signal !== undefined);
    const running: Running = {
      work: { ...outer?.work, ...work, ...(signals.length > 0 && { signal: AbortSignal.any(signals) }) },
      meter: outer?.meter ?? { spentMs: 0, isAdmitted: false, isLong: false, endPriority: this.#beginPriority() },
      isOver: false,
    };
    try {
      return await this.#running.run(running, run);
    } finally {
      running.isOver = true;
      if (!outer) running.meter.endPriority();
    }
  }

  /** Runs work that outlives its caller: neither the caller's signal nor its admission concerns it. */
  apart<T>(run: () => T): T {
    return this.#running.run(undefined, run);
  }

  /** Ends a slice if it is due. Returns undefined if the work may go on. Throws if the signal has aborted. */
  slice(): Promise<void> | undefined {
    const now = this.#time.elapsed();
    const running = this.#current();
    running?.work.signal?.throwIfAborted();
    if (this.#turnBegan === undefined) {
      if (running?.meter.isLong) return this.#pause(running);
      this.#turnBegan = now;
      this.#chargedTo = now;
      this.#requestTurn();
    }
    if (running) running.meter.spentMs += now - this.#chargedTo;
    this.#chargedTo = now;
    const isDue = now - this.#turnBegan >= sliceMs || (running && mustAsk(running));
    return isDue ? this.#pause(running) : undefined;
  }

  /** Takes the steps of a generator in slices, and returns its result. */
  async drain<T>(steps: Generator<unknown, T, void>): Promise<T> {
    const began = this.#time.elapsed();
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      const due = this.#time.elapsed() - began < briefMs ? undefined : this.slice();
      if (due) await due;
    }
  }

  /**
   * Reads from the store, few at a time for each owner. So a flood of reads by one owner does not fill the line of the
   * store, in which all owners wait.
   */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    const running = this.#current();
    const owner = running?.work.owner;
    if (owner === undefined) return read();
    const lane = this.#lanes.get(owner) ?? { reads: 0, waiting: [] };
    this.#lanes.set(owner, lane);
    if (lane.reads >= readsAtOnce) await new Promise<void>((resolve) => lane.waiting.push(resolve));
    else lane.reads += 1;
    try {
      running?.work.signal?.throwIfAborted();
      return await read();
    } finally {
      const next = lane.waiting.shift();
      if (next) next();
      else lane.reads -= 1;
      if (lane.reads === 0) this.#lanes.delete(owner);
    }
  }

  #current(): Running | undefined {
    const running = this.#running.getStore();
    return running?.isOver ? undefined : running;
  }

  /** Light work has priority until it ends or takes longer than a slice. */
  #beginPriority(): () => void {
    this.#light += 1;
    this.#lastLightAt = this.#time.elapsed();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#light -= 1;
      if (this.#light === 0 && this.#isResting) this.#requestTurn();
    };
  }

  async #pause(running: Running | undefined): Promise<void> {
    if (running) {
      running.meter.endPriority();
      running.meter.isLong = true;
    }
    if (running && mustAsk(running)) {
      running.meter.admission ??= running.work.admit!();
      await running.meter.admission;
      running.meter.isAdmitted = true;
    }
    const owner = running?.work.owner ?? noOwner;
    const line = this.#waiting.get(owner) ?? [];
    const resumed = new Promise<void>((resolve) => line.push(resolve));
    this.#waiting.set(owner, line);
    this.#requestTurn();
    await resumed;
    if (!running?.isOver) running?.work.signal?.throwIfAborted();
  }

  #requestTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    this.#time.afterTurn(() => this.#turn());
  }

  #turn(): void {
    this.#isTurnDue = false;
    const now = this.#time.elapsed();
    if (this.#turnBegan !== undefined) {
      const workedMs = Math.max(this.#chargedTo, this.#turnBegan) - this.#turnBegan;
      this.#restUntil = now + Math.min(Math.max(restMs, workedMs), maxRestMs);
    }
    this.#turnBegan = undefined;
    const [next] = this.#waiting;
    if (!next) return;
    const isLight = this.#light > 0 && now - this.#lastLightAt < lightMs;
    if (isLight && now < this.#restUntil) {
      this.#rest();
      return;
    }
    const [owner, line] = next;
    const resume = line.shift()!;
    this.#waiting.delete(owner);
    if (line.length > 0) this.#waiting.set(owner, line);
    this.#turnBegan = now;
    this.#chargedTo = now;
    this.#requestTurn();
    resume();
  }

  #rest(): void {
    if (this.#isResting) return;
    this.#isResting = true;
    this.#time.after(1, () => {
      this.#isResting = false;
      this.#requestTurn();
    });
  }
}

/** The event loop of this thread. */
export const eventLoop = new EventLoop({
  elapsed: () => performance.now(),
  afterTurn: (call) => void setImmediate(call),
  after: (ms, call) => void setTimeout(call, ms),
});
