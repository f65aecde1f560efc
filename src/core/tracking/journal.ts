import { Mutex } from '../../concurrency/mutex.ts';
import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { loopHolder } from '../engine/process-holder.ts';
import type { WriteAccess } from '../engine/scope.ts';
import { type FoldReading, fenceOf, readHead, type SessionWrite, writeDecision } from '../engine/session-writer.ts';
import type { Fence, SessionKey } from '../ports/store.ts';
import type { RunningCall, SessionFold } from '../session/fold.ts';
import { refuseUnlessHolder } from '../session/holder.ts';
import { endLeftCall } from '../session/runs/settle-calls.ts';

const stateNotCommitted = (key: SessionKey): PerdureError =>
  new PerdureError(
    'CONFLICT',
    `gave up on ${key.session} after too many conflicting writes: the call is journaled, but its state change is not`,
    { details: { ...key } },
  );

/** The calls that earlier loops left in flight. A run recovers its own calls. */
export const leftCalls = ({ run, runningCalls }: SessionFold): Readonly<Record<string, RunningCall>> =>
  run ? {} : runningCalls;

const withoutLeft = (state: SessionFold, left: ReadonlyMap<string, RunningCall>): SessionFold => ({
  ...state,
  runningCalls: Object.fromEntries(Object.entries(state.runningCalls).filter(([callId]) => !left.has(callId))),
});

/**
 * Writes a session's journal of tool calls, and holds the fence that it claimed. Once another writer claims the
 * session, further entries are rejected and no more tools run.
 */
export class Journal {
  readonly #scope: WriteAccess;
  readonly #key: SessionKey;
  readonly #fence: Fence;
  #writtenTo = 0;
  /** The calls that earlier loops left in flight and that are not settled yet. */
  readonly #left: Map<string, RunningCall>;
  /** Entries of parallel calls are written one after another. */
  readonly #writing = new Mutex();

  private constructor(scope: WriteAccess, key: SessionKey, fence: Fence, left: Map<string, RunningCall>) {
    this.#scope = scope;
    this.#key = key;
    this.#fence = fence;
    this.#left = left;
  }

  /** Claims the session, while it accepts messages. The last attempt lands at any head. */
  static async claim(scope: WriteAccess, key: SessionKey): Promise<Journal> {
    const holder = loopHolder();
    let left: Readonly<Record<string, RunningCall>> = {};
    const { appended } = await writeDecision(scope, key, {
      read: () => readHead(scope, key),
      decide: (state, { isLast }) => {
        refuseUnlessHolder(state, scope.caller, 'call tools');
        left = leftCalls(state);
        const payload = { ...(holder && { holder }) };
        const claimed: EventDraft = { type: 'session.tracked', payload, actor: scope.actor, turn: 'current' };
        return { drafts: [claimed], command: 'append', takesOver: true, raisesEpoch: true, fact: isLast };
      },
    });
    return new Journal(scope, key, fenceOf(appended!.head), new Map(Object.entries(left)));
  }

  /** The calls that earlier loops left in flight, and that are not settled yet. */
  get left(): readonly (readonly [callId: string, RunningCall])[] {
    return [...this.#left];
  }

  /** Whether no other writer has claimed the session since. */
  async isCurrent(): Promise<boolean> {
    const head = await this.#scope.store.head(this.#key);
    return head?.epoch === this.#fence.epoch && head.claim === this.#fence.claim;
  }

  /**
   * Journals the start of a call. This is possible only while the session accepts messages. The first call ends the
   * calls that are still left in flight, because nothing will settle them any more.
   */
  begin(calledOn: (state: SessionFold) => EventDraft): Promise<void> {
    return this.#writing.run(async () => {
      const left = this.left;
      const now = this.#scope.clock.now();
      await this.#write((state) => [
        ...left.map(([callId, call]) => endLeftCall(state, callId, call, now)),
        calledOn(left.length > 0 ? withoutLeft(state, this.#left) : state),
      ]);
      for (const [callId] of left) this.#left.delete(callId);
    });
  }

  /** Journals another attempt of a call that was left in flight. */
  retry(callId: string, { tool, attempt }: RunningCall, reason: string): Promise<void> {
    const payload = { callId, tool, attempt: attempt + 1, reason };
    return this.#writing.run(() =>
      this.#write(({ turn }) => [{ type: 'tool.retried', payload, actor: this.#scope.actor, turn }]),
    );
  }

  /**
   * Journals the outcome of a call. An outcome is a fact and must not be lost. It is appended in any status of the
   * session, unless another writer has taken over. It is appended even if its state change cannot be committed.
   */
  end(
    callId: string,
    fact: (state: SessionFold) => EventDraft,
    commit: (state: SessionFold) => EventDraft | undefined,
  ): Promise<void> {
    return this.#writing.run(async () => {
      this.#left.delete(callId);
      await this.#end(fact, commit);
    });
  }

  async #write(draftsOn: (state: SessionFold) => readonly EventDraft[]): Promise<void> {
    await this.#append((state) => ({ drafts: draftsOn(state), command: 'append', fact: true }));
  }

  async #end(
    fact: (state: SessionFold) => EventDraft,
    commit: (state: SessionFold) => EventDraft | undefined,
  ): Promise<void> {
    let problem: unknown;
    await this.#append((state, { isLast }) => {
      let change: EventDraft | undefined;
      try {
        if (isLast) throw stateNotCommitted(this.#key);
        change = commit(state);
      } catch (error) {
        problem = error;
      }
      return { drafts: [fact(state), ...(change ? [change] : [])], fact: problem !== undefined };
    });
    if (problem) throw problem;
  }

  async #append(decide: SessionWrite['decide']): Promise<void> {
    const { appended } = await writeDecision(this.#scope, this.#key, {
      read: (attempt) => this.#read(attempt),
      decide,
      writer: { kind: 'run', ...this.#fence, writtenTo: this.#writtenTo },
    });
    if (appended) this.#writtenTo = appended.head.seq;
  }

  async #read(attempt: number): Promise<FoldReading> {
    const { folds } = this.#scope;
    return { fold: await (attempt === 0 ? folds.recent(this.#key) : folds.head(this.#key)) };
  }
}
