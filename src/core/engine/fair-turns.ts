import type { Timekeeper } from '../ports/timekeeper.ts';

/** Steps in one turn of the event loop. A step wakes a follower, which takes some tens of microseconds. */
const stepsPerTurn = 16;

/**
 * Runs many short steps over many turns of the event loop, so that other requests are served in between. Groups with
 * steps take turns step by step, so that a group with many steps delays the others by little.
 */
export class FairTurns {
  static readonly #byClock = new WeakMap<object, FairTurns>();
  readonly #clock: Pick<Timekeeper, 'nextTurn'>;
  /** The steps of each group, in order. A step that waits already is not added again. */
  readonly #queues = new Map<string, Set<() => void>>();
  #isPlanned = false;

  /** The turns of everything that uses this clock, so that workspaces take turns in the whole process. */
  static of(clock: Pick<Timekeeper, 'nextTurn'>): FairTurns {
    const turns = FairTurns.#byClock.get(clock) ?? new FairTurns(clock);
    FairTurns.#byClock.set(clock, turns);
    return turns;
  }

  private constructor(clock: Pick<Timekeeper, 'nextTurn'>) {
    this.#clock = clock;
  }

  add(group: string, steps: Iterable<() => void>): void {
    const queue = this.#queues.get(group) ?? new Set();
    for (const step of steps) queue.add(step);
    if (queue.size === 0) return;
    this.#queues.set(group, queue);
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.nextTurn(() => {
      this.#isPlanned = false;
      this.#turn();
      if (this.#queues.size > 0) this.#plan();
    });
  }

  #turn(): void {
    for (let count = 0; count < stepsPerTurn && this.#queues.size > 0; count++) {
      const [group, queue] = this.#queues.entries().next().value!;
      const step = queue.values().next().value!;
      queue.delete(step);
      // The group goes to the end of the rotation.
      this.#queues.delete(group);
      if (queue.size > 0) this.#queues.set(group, queue);
      step();
    }
  }
}
