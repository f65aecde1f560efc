import type { SessionEvent } from '../../schema/event.ts';
import type { Message } from '../../schema/message.ts';
import { readContextParts } from '../context/context.ts';
import { brokenEntry, messagesOf } from '../context/transcript.ts';
import type { RunWriter } from '../engine/run-writer.ts';
import type { LogAccess, WriteAccess } from '../engine/scope.ts';
import { assembleContext, type Context, type SystemSource } from '../session/context/context.ts';
import type { ContextEntry } from '../session/context/context-units.ts';
import { withoutForeignParts } from '../session/context/foreign-parts.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';

interface Request {
  readonly maxTokens: number;
  /** The model that receives the context, as `provider/model`. */
  readonly model: string;
  readonly instructions: string;
}

interface TurnsContext extends Context {
  /** The number of turns in the context. */
  readonly turns: number;
  /** Whether earlier turns did not fit into the context and no summary covers them. */
  readonly isCut: boolean;
}

interface Known {
  readonly turn: number;
  readonly compaction: SessionFold['compaction'];
  readonly instructions: string;
  /** The room for which `entries` were read. A model with a larger window needs earlier turns too. */
  readonly maxTokens: number;
  readonly source: SystemSource;
  readonly entries: ContextEntry[];
  /** The seq up to which `entries` is complete. */
  seq: number;
}

const entryOf = (event: SessionEvent): ContextEntry | undefined => {
  const { seq, turn } = event;
  if (event.type === 'message.appended') {
    const { message, model, cut } = event.payload;
    return { seq, turn, message, model, cut };
  }
  return event.type === 'message.abandoned' ? brokenEntry(event) : undefined;
};

const isAnswer = ({ message, brokenOff }: Pick<ContextEntry, 'message' | 'brokenOff'>): boolean =>
  message.role === 'assistant' && !brokenOff;
const textOf = ({ content }: Message): string =>
  content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('');

/**
 * The messages of a run, read once and then updated with the messages that the run writes. If other writers append in
 * between, the messages are read again.
 */
export class Conversation {
  readonly #scope: LogAccess & Pick<WriteAccess, 'secrets'>;
  readonly #writer: RunWriter;
  #known: Known | undefined;

  constructor(scope: LogAccess & Pick<WriteAccess, 'secrets'>, writer: RunWriter) {
    this.#scope = scope;
    this.#writer = writer;
    writer.onWritten = (events) => this.#take(events);
  }

  async context(fold: SessionFold, request: Request): Promise<TurnsContext> {
    const known = this.#isNewest(fold, request) ? this.#known! : await this.#read(fold, request);
    const entries = withoutForeignParts(known.entries, request.model);
    const context = assembleContext(entries, request.maxTokens, known.source);
    const turns = new Set(entries.filter(({ seq }) => seq >= context.from).map(({ turn }) => turn));
    return { ...context, turns: turns.size, isCut: !turns.has(entries[0]?.turn ?? fold.turn) };
  }

  /** Returns the text of the model's last answer, or an empty text if there is none. */
  async lastAnswer(fold: SessionFold): Promise<string> {
    const known = this.#known?.seq === fold.seq ? this.#known.entries.findLast(isAnswer) : undefined;
    if (known) return textOf(known.message);
    for await (const entry of messagesOf(this.#scope, this.#writer.key, fold)) {
      if (isAnswer(entry)) return textOf(entry.message);
    }
    return '';
  }

  async messageAt(seq: number): Promise<Message | undefined> {
    const known = this.#known?.entries.findLast((entry) => entry.seq === seq);
    if (known) return known.message;
    const { key } = this.#writer;
    const [stored] = await this.#scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 });
    const event = stored && decodeEvent(key.workspace, stored);
    return event?.type === 'message.appended' ? event.payload.message : undefined;
  }

  #isNewest({ seq, turn, compaction }: SessionFold, { instructions, maxTokens }: Request): boolean {
    const known = this.#known;
    return (
      known?.seq === seq &&
      known.turn === turn &&
      known.compaction === compaction &&
      known.maxTokens >= maxTokens &&
      known.instructions === instructions
    );
  }

  async #read(fold: SessionFold, { instructions, maxTokens }: Request): Promise<Known> {
    const redactor = await this.#scope.secrets.redactor();
    const parts = await readContextParts(this.#scope, this.#writer.key, { fold, instructions, maxTokens, redactor });
    const { turn, compaction, seq } = fold;
    const source = { systemWithin: parts.systemWithin, oldest: parts.oldest };
    this.#known = { turn, compaction, instructions, maxTokens, source, entries: [...parts.entries], seq };
    return this.#known;
  }

  #take(events: readonly SessionEvent[]): void {
    const known = this.#known;
    if (!known) return;
    if (events[0]?.seq !== known.seq + 1) {
      this.#known = undefined;
      return;
    }
    known.entries.push(...events.map(entryOf).filter((entry) => entry !== undefined));
    known.seq = events.at(-1)!.seq;
  }
}
