import { Mutex } from '../../concurrency/mutex.ts';
import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { WriteAccess } from '../engine/scope.ts';
import { type FoldReading, readHead, writeDecision } from '../engine/session-writer.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { refuseUnlessHolder } from '../session/holder.ts';
import { endRunningCalls, interruptedCalls } from '../session/runs/settle-calls.ts';

const stateNotCommitted = (key: SessionKey): PerdureError =>
  new PerdureError(
    'CONFLICT',
    `gave up on ${key.session} after too many conflicting writes: the call is journaled, but its state change is not`,
    { details: { ...key } },
  );

/**
 * Writes a session's journal of tool calls, and holds the epoch from its first entry on. Once another writer claims
 * the session, further entries are rejected and no more tools run.
 */
export class Journal {
  readonly #scope: WriteAccess;
  readonly #key: SessionKey;
  #epoch: number | undefined;
  /** Entries of parallel calls are written one after another. */
  readonly #writing = new Mutex();

  constructor(scope: WriteAccess, key: SessionKey) {
    this.#scope = scope;
    this.#key = key;
  }

  /**
   * Journals the start of a call. This is possible only while the session accepts messages. The first call claims the
   * session.
   */
  begin(calledOn: (state: SessionFold) => EventDraft): Promise<void> {
    return this.#writing.run(() =>
      this.#epoch === undefined ? this.#claim(calledOn) : this.#call(this.#epoch, calledOn),
    );
  }

  /**
   * Journals the outcome of a call. An outcome is a fact and must not be lost. It is appended in any status of the
   * session, unless another writer has taken over. It is appended even if its state change cannot be committed.
   */
  end(fact: (state: SessionFold) => EventDraft, commit: (state: SessionFold) => EventDraft | undefined): Promise<void> {
    return this.#writing.run(() => this.#end(fact, commit));
  }

  /**
   * Claims the session. Calls that the previous writer left running end as interrupted, because their outcome is
   * unknown. The exception is a run, which recovers its own calls. The last attempt lands at any head.
   */
  async #claim(calledOn: (state: SessionFold) => EventDraft): Promise<void> {
    const { clock } = this.#scope;
    const { appended } = await writeDecision(this.#scope, this.#key, {
      read: () => readHead(this.#scope, this.#key),
      decide: (state, { isLast }) => {
        refuseUnlessHolder(state, this.#scope.caller, 'call tools');
        const left = state.run ? [] : endRunningCalls(state, interruptedCalls, clock.now());
        const called = calledOn(left.length > 0 ? { ...state, runningCalls: {} } : state);
        return { drafts: [...left, called], command: 'append', takesOver: true, raisesEpoch: true, fact: isLast };
      },
    });
    this.#epoch = appended!.head.epoch;
  }

  async #call(epoch: number, calledOn: (state: SessionFold) => EventDraft): Promise<void> {
    await writeDecision(this.#scope, this.#key, {
      read: (attempt) => this.#read(attempt),
      decide: (state) => ({ drafts: [calledOn(state)], command: 'append', fact: true }),
      epoch,
    });
  }

  async #end(
    fact: (state: SessionFold) => EventDraft,
    commit: (state: SessionFold) => EventDraft | undefined,
  ): Promise<void> {
    let problem: unknown;
    await writeDecision(this.#scope, this.#key, {
      read: (attempt) => this.#read(attempt),
      decide: (state, { isLast }) => {
        let change: EventDraft | undefined;
        try {
          if (isLast) throw stateNotCommitted(this.#key);
          change = commit(state);
        } catch (error) {
          problem = error;
        }
        return { drafts: [fact(state), ...(change ? [change] : [])], fact: problem !== undefined };
      },
      epoch: this.#epoch!,
    });
    if (problem) throw problem;
  }

  async #read(attempt: number): Promise<FoldReading> {
    const { folds } = this.#scope;
    return { fold: await (attempt === 0 ? folds.recent(this.#key) : folds.head(this.#key)) };
  }
}
