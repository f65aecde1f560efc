import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf, SessionEvent } from '../../schema/event.ts';
import type { Usage } from '../../schema/run.ts';
import { readPieces } from '../engine/read-partial-answer.ts';
import { writeDecision } from '../engine/session-writer.ts';
import type { Model, ModelDelta } from '../ports/model.ts';
import type { CancelTimer } from '../ports/timekeeper.ts';
import { charsPerToken } from '../session/context/context-units.ts';
import { storable } from '../session/events/as-json.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive } from '../session/live-lineage.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { type AnswerText, addPieces, brokenContent, noPieces, restOfPiece } from '../session/runs/partial-answer.ts';
import { agentActor, type RunContext } from './run-context.ts';

/** The longest time for which text that was shown is not stored, with room for a slow write. */
const everyMs = 1000;
/** Text that was shown is stored before it reaches 4 kB. The rest of them is room for text that arrives meanwhile. */
const everyBytes = 3072;
/** The delay before such a write. An answer that is complete by then is stored whole, and needs no pieces. */
const soonMs = 20;

const endsInPair = /[\uD800-\uDBFF]$/;

/** Joins consecutive pieces of one kind. */
const joined = (pieces: readonly AnswerText[], next: AnswerText): readonly AnswerText[] => {
  const last = pieces.at(-1);
  return last?.type === next.type
    ? [...pieces.slice(0, -1), { ...last, text: last.text + next.text }]
    : [...pieces, next];
};

/**
 * Stores what was shown of an answer while the model writes it. The stream does not wait for a write: text that arrives
 * meanwhile is in the next event.
 */
export class AnswerProgress {
  readonly #run: RunContext;
  readonly #model: Model;
  readonly #called: SessionEvent<'model.called'>;
  readonly #redactor: Redactor;
  /** The whole text by kind. */
  readonly #shown = new Map<AnswerText['type'], string>();
  #pending: readonly AnswerText[] = [];
  #pendingBytes = 0;
  /** The number of characters of the answer, including inputs of calls, which are counted but not stored. */
  #chars = 0;
  #countedChars = 0;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  #isFenced = false;
  #isOver = false;
  #cancelTimer: CancelTimer | undefined;
  #isSoon = false;

  constructor(run: RunContext, model: Model, called: SessionEvent<'model.called'>, redactor: Redactor) {
    this.#run = run;
    this.#model = model;
    this.#called = called;
    this.#redactor = redactor;
  }

  /** Takes text as it was shown, without secrets. */
  show(kind: ModelDelta['kind'], text: string): void {
    if (this.#isOver) return;
    this.#chars += text.length;
    if (kind !== 'tool-input') this.#add(kind, text);
    if (!this.#isWriting) this.#look();
  }

  #add(kind: AnswerText['type'], text: string): void {
    const before = this.#shown.get(kind) ?? '';
    this.#shown.set(kind, before + text);
    this.#pending = joined(this.#pending, { type: kind, offset: before.length, text });
    this.#pendingBytes += Buffer.byteLength(text);
  }

  /** Stores everything that was shown until now. Does not reject. */
  flush(): Promise<void> {
    this.#isWriting = true; // before the write begins, so that a burst of pieces does not queue many writes
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** The answer is complete: no further piece is stored. */
  end(): void {
    this.#isOver = true;
    this.#pending = [];
    this.#cancelTimer?.();
  }

  /** The answer broke off. Stores the rest, also if another writer has taken the run over. Does not reject. */
  async breakOff(): Promise<void> {
    await this.flush();
    this.#isOver = true;
    this.#cancelTimer?.();
    if (this.#isFenced && this.#pending.length > 0)
      await this.#storeRest().catch((error) => this.#run.scope.onWarning(error));
  }

  #look(): void {
    const isFull = this.#pendingBytes >= everyBytes;
    if (this.#chars === this.#countedChars || (this.#cancelTimer && isFull === this.#isSoon)) return;
    this.#cancelTimer?.();
    this.#isSoon = isFull;
    this.#cancelTimer = this.#run.scope.clock.after(isFull ? soonMs : everyMs, () => void this.flush());
  }

  /** A failed write keeps its pieces for the next one. Their offsets prevent that a piece counts twice. */
  async #write(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const pieces = this.#take();
    const chars = this.#chars;
    try {
      if (this.#isOver || chars === this.#countedChars) return;
      if (await this.#isSecretStored()) return this.end();
      if (this.#isOver) return;
      await this.#run.writer.record(this.#progressed(pieces));
      this.#countedChars = chars;
    } catch (error) {
      this.#pending = this.#pending.reduce(joined, pieces);
      this.#isFenced = isPerdureError(error, 'FENCED');
      if (!isPerdureError(error)) this.#run.scope.onWarning(error);
      return;
    } finally {
      this.#isWriting = false;
    }
    this.#look();
  }

  /** Takes the pending pieces. Keeps the first half of a character whose second half has not arrived. */
  #take(): readonly AnswerText[] {
    const pieces = this.#pending;
    const last = pieces.at(-1);
    this.#pending = [];
    this.#pendingBytes = 0;
    if (!last || !endsInPair.test(last.text)) return pieces;
    const text = last.text.slice(0, -1);
    this.#pending = [{ ...last, offset: last.offset + text.length, text: last.text.slice(-1) }];
    return [...pieces.slice(0, -1), ...(text === '' ? [] : [{ ...last, text }])];
  }

  /**
   * Whether the answer contains a secret that became known only after the request. One half of it may be stored, so
   * the other half must not follow.
   */
  async #isSecretStored(): Promise<boolean> {
    const redactor = await this.#run.scope.secrets.redactor();
    if (redactor === this.#redactor) return false;
    return [...this.#shown.values()].some((text) => redactor.text(text) !== text);
  }

  get #usedBy(): PayloadOf<'message.progressed'>['usedBy'] {
    return { model: this.#model.name, agent: agentActor(this.#run), requestedBy: this.#run.requestedBy };
  }

  get #usage(): Usage {
    const { requestTokens: inputTokens } = this.#called.payload;
    return this.#priced(inputTokens, Math.ceil(this.#chars / charsPerToken));
  }

  #priced(inputTokens: number, outputTokens: number): Usage {
    const { price } = this.#model;
    const usd = price ? (inputTokens * price.input + outputTokens * price.output) / 1e6 : undefined;
    return { inputTokens, outputTokens, ...(usd !== undefined && { usd }) };
  }

  #progressed(pieces: readonly AnswerText[]): EventDraft<'message.progressed'> {
    const { message } = this.#called.payload;
    const clean = pieces.map((piece) => ({ ...piece, text: storable(piece.text) }));
    return {
      type: 'message.progressed',
      payload: { message, pieces: clean, usage: this.#usage, usedBy: this.#usedBy },
      actor: agentActor(this.#run),
      turn: 'current',
      run: this.#run.run,
    };
  }

  /**
   * Stores the rest after this worker was fenced, as an outside writer. If the new writer has already recorded that the
   * answer broke off, this adds to it.
   */
  async #storeRest(): Promise<void> {
    const { scope, writer } = this.#run;
    const { message } = this.#called.payload;
    await writeDecision(scope, writer.key, {
      read: async () => ({ fold: await scope.folds.head(writer.key) }),
      decide: async (fold) => {
        const stored = await readPieces(scope, writer.key, { message, after: this.#called.seq, upTo: fold.seq });
        const rest = this.#pending
          .map((piece) => restOfPiece(piece, stored.chars.get(piece.type) ?? 0))
          .map((piece) => ({ ...piece, text: piece.text.replace(endsInPair, '') }))
          .filter(({ text }) => text !== '');
        if (rest.length === 0) return undefined;
        const draft = this.#isBrokenOff(fold) ? this.#added(rest, stored.usage) : this.#progressed(rest);
        return { drafts: [{ ...draft, turn: fold.turn }] };
      },
    });
  }

  /** Whether the answer is marked as broken off, in a turn that is still the newest. */
  #isBrokenOff({ run, turn, live }: SessionFold): boolean {
    const isOpen = run?.asked?.message === this.#called.payload.message;
    return !isOpen && turn === this.#called.turn && isLive(live, this.#called.seq);
  }

  #added(rest: readonly AnswerText[], counted: Usage | undefined): EventDraft<'message.abandoned'> {
    const { message } = this.#called.payload;
    const whole = this.#usage;
    const usage = this.#priced(
      whole.inputTokens - (counted?.inputTokens ?? 0),
      whole.outputTokens - (counted?.outputTokens ?? 0),
    );
    const payload: PayloadOf<'message.abandoned'> = {
      message,
      ...brokenContent(addPieces(noPieces(message), { pieces: fromStart(rest), usage })),
      isRest: true,
      usage,
      usedBy: this.#usedBy,
    };
    return { ...this.#progressed(rest), type: 'message.abandoned', payload };
  }
}

/** The pieces with offsets from the first one of each kind. */
const fromStart = (pieces: readonly AnswerText[]): AnswerText[] => {
  const starts = new Map<string, number>();
  return pieces.map(({ type, offset, text }) => {
    const start = starts.get(type) ?? offset;
    starts.set(type, start);
    return { type, offset: offset - start, text: storable(text) };
  });
};
