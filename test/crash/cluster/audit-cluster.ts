import type { ScopedRuntime } from '../../../src/core/runtime/scoped-runtime.ts';
import type { EventType, SessionEvent } from '../../../src/schema/event.ts';
import { linesOf, notesFile } from './cluster-agent.ts';
import type { RunWrite } from './telling-store.ts';
import type { Conversation } from './traffic.ts';

export interface Figures {
  events: number;
  runs: number;
  /** Runs that more than one worker worked on. */
  takenOver: number;
  /** Calls of the `once` tool with an unknown outcome. */
  interrupted: number;
  /** Writes that were rejected because another worker had claimed the session. */
  refused: number;
}

const isA =
  <T extends EventType>(type: T) =>
  (event: SessionEvent): event is Extract<SessionEvent, { type: T }> =>
    event.type === type;

const grouped = <T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> =>
  Map.groupBy(items, keyOf);

const numbersFrom1 = (length: number): readonly number[] => Array.from({ length }, (_, index) => index + 1);
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Checks everything that the cluster left behind, and collects the problems. */
export class ClusterAudit {
  readonly problems: string[] = [];
  readonly figures: Figures = { events: 0, runs: 0, takenOver: 0, interrupted: 0, refused: 0 };
  readonly #writes: ReadonlyMap<string, readonly RunWrite[]>;
  readonly #paid: ReadonlyMap<string, readonly string[]>;
  readonly #counted: ReadonlySet<string>;

  constructor(folder: string) {
    const writes = linesOf(folder, 'writes').map((line) => JSON.parse(line) as RunWrite);
    this.figures.refused = writes.filter(({ events }) => events.length === 0).length;
    this.#writes = grouped(writes, ({ session }) => session);
    this.#paid = grouped(linesOf(folder, 'pay'), (key) => key);
    this.#counted = new Set(linesOf(folder, 'count'));
    for (const [call, lines] of this.#paid) {
      if (lines.length > 1) this.problems.push(`the once tool ran ${lines.length} times for ${call}`);
    }
  }

  async look(runtime: ScopedRuntime, conversation: Conversation): Promise<void> {
    const session = await runtime.sessions.get(conversation.id);
    const log = await Array.fromAsync(session.events());
    const complain = (problem: string) => this.problems.push(`${conversation.id}: ${problem}`);
    this.figures.events += log.length;
    if (
      !isSame(
        log.map(({ seq }) => seq),
        numbersFrom1(log.length),
      )
    )
      complain('the log has gaps');
    const verified = await session.verify();
    if (!verified.ok) complain(`verification failed: ${JSON.stringify(verified.bad)}`);
    this.#lookAtInputs(log, conversation, complain);
    for (const { payload } of log.filter(isA('input.admitted'))) this.#lookAtRun(log, payload.run, complain);
    this.#lookAtWrites(log, conversation.id, complain);
    this.#lookAtCalls(log, complain);
    this.#lookAtReaders(log, conversation, complain);
    if (conversation.takesNotes) {
      const notes = await session.files.read(notesFile).then((bytes) => Buffer.from(bytes).toString('utf8'), String);
      const runs = log.filter(isA('input.admitted')).map(({ payload }) => `${payload.run}\n`);
      if (notes !== runs.join('')) complain(`the notes are ${JSON.stringify(notes)}, but the runs are ${runs.join()}`);
    }
  }

  /** Every acknowledged input is in the log once, under the run id that the client received. */
  #lookAtInputs(log: readonly SessionEvent[], { sent }: Conversation, complain: (problem: string) => void): void {
    const admitted = log.filter(isA('input.admitted')).map(({ payload }) => {
      const [part] = payload.message.content;
      return { text: part?.type === 'text' ? part.text : '', run: payload.run };
    });
    for (const { text, run } of sent) {
      const found = admitted.filter((each) => each.text === text);
      if (!isSame(found, [{ text, run }])) {
        complain(`"${text}" was acknowledged as ${run}, but the log has ${JSON.stringify(found)}`);
      }
    }
    const strange = admitted.filter(({ text }) => !sent.some((each) => each.text === text));
    if (strange.length > 0) complain(`inputs that no client sent: ${JSON.stringify(strange)}`);
  }

  /**
   * The run succeeded exactly once, its attempts count up from 1, and none of its events follows its end. The exception
   * is what a fenced worker had shown of an answer: it stores that whenever it notices.
   */
  #lookAtRun(log: readonly SessionEvent[], run: string, complain: (problem: string) => void): void {
    const isShown = (event: SessionEvent) =>
      isA('message.progressed')(event) || (isA('message.abandoned')(event) && event.payload.isRest);
    const own = log.filter((event) => event.run === run && event.type !== 'input.admitted' && !isShown(event));
    const ends = own.filter(isA('run.ended'));
    this.figures.runs++;
    if (
      !isSame(
        ends.map(({ payload }) => payload.status),
        ['succeeded'],
      )
    ) {
      complain(
        `${run} has the outcomes ${JSON.stringify(ends.map(({ payload }) => payload))}, its last event is ${own.at(-1)?.type}`,
      );
    } else if (own.at(-1)?.type !== 'run.ended')
      complain(`${run} has events after its end, the last is ${own.at(-1)?.type}`);
    const attempts = own.filter(isA('run.started')).map(({ payload }) => payload.attempt);
    if (attempts.length > 1) this.figures.takenOver++;
    if (!isSame(attempts, numbersFrom1(attempts.length))) complain(`${run} has the attempts ${attempts}`);
  }

  /**
   * Every write acknowledged to a worker is in the log, and every event of an earlier epoch precedes those of a later
   * one.
   */
  #lookAtWrites(log: readonly SessionEvent[], session: string, complain: (problem: string) => void): void {
    const landed = (this.#writes.get(session) ?? [])
      .flatMap(({ epoch, process, events }) => events.map(([seq, hash]) => ({ seq, hash, epoch, process })))
      .toSorted((a, b) => a.seq - b.seq);
    let last = { seq: 0, epoch: 0, process: 0 };
    for (const { seq, hash, epoch, process } of landed) {
      if (log[seq - 1]?.hash !== hash) complain(`event ${seq}, acknowledged to worker ${process}, is not in the log`);
      if (seq === last.seq) complain(`event ${seq} was acknowledged twice, to workers ${last.process} and ${process}`);
      if (epoch < last.epoch) {
        complain(`event ${seq} of worker ${process} under epoch ${epoch} follows ${last.seq} under ${last.epoch}`);
      }
      last = { seq, epoch, process };
    }
  }

  /**
   * Every call ended once. A call reported as completed was executed, and only a `once` call may have an unknown
   * outcome.
   */
  #lookAtCalls(log: readonly SessionEvent[], complain: (problem: string) => void): void {
    const called = log.filter(isA('tool.called'));
    const ends = grouped(
      log.filter((event) => isA('tool.completed')(event) || isA('tool.failed')(event)),
      ({ payload }) => payload.callId,
    );
    for (const { payload, session, run } of called) {
      const { callId, tool } = payload;
      const key = `${session}/${run}/${callId}`;
      const [end, ...more] = ends.get(callId) ?? [];
      if (!end || more.length > 0) complain(`${tool} ${callId} has ${ends.get(callId)?.length ?? 0} ends`);
      else if (isA('tool.failed')(end)) {
        this.figures.interrupted++;
        if (tool !== 'pay' || end.payload.outcome !== 'interrupted') {
          complain(`${tool} ${callId} ended as ${end.payload.outcome}: ${end.payload.error.message}`);
        }
      } else if (tool === 'pay' && !this.#paid.has(key)) complain(`${callId} completed, but the payment was not made`);
      else if (tool === 'count' && !this.#counted.has(key)) complain(`${callId} completed, but was not counted`);
    }
  }

  #lookAtReaders(log: readonly SessionEvent[], { readers }: Conversation, complain: (problem: string) => void): void {
    const all = log.map(({ seq, hash }) => [seq, hash] as const);
    for (const { server, seen, failed } of readers) {
      const who = `the reader on server ${server + 1}`;
      if (failed) complain(`${who} failed: ${failed}`);
      const wrong = seen.findIndex((event, index) => !isSame(event, all[index]));
      if (wrong >= 0) complain(`${who} saw ${seen[wrong]} instead of ${all[wrong]}`);
      else if (seen.length < all.length) complain(`${who} saw ${seen.length} of ${all.length} events`);
    }
  }
}
