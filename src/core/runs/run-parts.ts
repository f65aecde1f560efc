import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import { type FollowedRun, followRun, isOfRun, newlyFollowed } from '../../schema/follow-run.ts';
import type { MessageId, RunId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import type { AnswerPiece, EventPart, ProgressPiece, RunPart } from '../../schema/run-part.ts';
import type { Preview } from '../engine/preview.ts';
import { addUsage, noUsage, usageTold } from '../session/runs/run-fold.ts';

type Kind = AnswerPiece['type'];

/**
 * Maximum messages kept before the log names them: the message about to be requested, and late messages of a replaced
 * worker.
 */
const maxHeard = 4;
const maxProgress = 100;

const restartReasons = {
  cancelled: 'the run was cancelled',
  stopped: 'another worker took the run over',
} as const;

const kinds: readonly ('reasoning' | 'text')[] = ['reasoning', 'text'];

const textOf = ({ content }: Extract<Message, { role: 'assistant' }>, kind: Kind): string =>
  content.map((part) => (part.type === kind ? part.text : '')).join('');

const failureText = ({ message, next }: PayloadOf<'model.failed'>): string =>
  next === undefined ? message : `${message}; the run asks ${next} instead`;

/**
 * Builds the parts of a run from its events and its previews. Pieces of an answer are held back until the log has the
 * call to the model. Pieces that are missing when the answer ends are read from the log.
 */
export class RunParts {
  #followed: FollowedRun;
  #usage = noUsage;
  /** The message that is being written. */
  #open: MessageId | undefined;
  /** How many characters of each kind of the open message were yielded. */
  readonly #given = new Map<Kind, number>();
  /** The text of each message that was received, from its beginning and without gaps. */
  readonly #heard = new Map<string, Map<Kind, string>>();
  #progress: ProgressPiece[] = [];
  /** Inputs of calls that have no result yet. */
  readonly #inputs = new Map<string, Json>();

  constructor(run: RunId) {
    this.#followed = newlyFollowed(run);
  }

  get isOver(): boolean {
    return this.#followed.end !== undefined;
  }

  hear(preview: Preview): void {
    if (preview.type === 'progress') {
      const { callId, text } = preview;
      this.#progress = [...this.#progress, { type: 'tool-progress' as const, callId, text }].slice(-maxProgress);
      return;
    }
    const { message, kind, offset, text } = preview;
    const texts = this.#heard.get(message) ?? new Map<Kind, string>();
    this.#heard.set(message, texts);
    const before = texts.get(kind) ?? '';
    if (offset <= before.length) texts.set(kind, before + text.slice(before.length - offset));
    const [oldest] = [...this.#heard.keys()].filter((each) => each !== this.#open);
    if (this.#heard.size > maxHeard) this.#heard.delete(oldest!);
  }

  /**
   * Returns the pieces that arrived since the last call, joined in one list, because a reader may be slow while more
   * pieces arrive.
   */
  pieces(): readonly (AnswerPiece | ProgressPiece)[] {
    const message = this.#open;
    const texts = (message && this.#heard.get(message)) ?? new Map<Kind, string>();
    const answer = [...texts].flatMap(([kind, text]) => this.#rest(message!, kind, text));
    const isKnown = ({ callId }: ProgressPiece) => this.#inputs.has(callId);
    const progress = this.#progress.filter(isKnown);
    this.#progress = this.#progress.filter((piece) => !isKnown(piece));
    return [...answer, ...progress];
  }

  /** Yields the parts of an event. At most one of these parts has the event's seq. */
  *event(event: SessionEvent): Generator<RunPart<Json>> {
    this.#followed = followRun(this.#followed, event);
    const { id, answeredBy, end } = this.#followed;
    if (event.run === answeredBy) this.#usage = addUsage(this.#usage, usageTold(event));
    if (isOfRun(this.#followed, event)) yield* this.#partsOf(event);
    if (end) yield { type: 'end', seq: event.seq, result: { run: id, usage: this.#usage, ...end } };
  }

  *#partsOf(event: SessionEvent): Generator<RunPart<Json>> {
    if (event.type === 'model.called') {
      this.#open = event.payload.message;
      this.#given.clear();
    }
    if (event.type === 'message.progressed') {
      const { message, pieces } = event.payload;
      for (const { type: kind, ...piece } of pieces) this.hear({ type: 'delta', message, kind, ...piece });
    }
    if (event.type === 'message.appended' && event.payload.message.role === 'assistant') {
      yield* this.#complete(event.payload.message);
    }
    const part = this.#partOf(event);
    if (part) yield part;
  }

  /**
   * Yields the pieces of the message that were not yielded yet. If the text that was shown differs from the message,
   * yields only the message.
   */
  *#complete(message: Extract<Message, { role: 'assistant' }>): Generator<RunPart<Json>> {
    const isOpen = this.#open === message.id;
    const shown = this.#heard.get(message.id);
    for (const kind of kinds) {
      const whole = textOf(message, kind);
      const given = isOpen ? (this.#given.get(kind) ?? 0) : 0;
      if (whole.startsWith(shown?.get(kind)?.slice(0, given) ?? '')) yield* this.#rest(message.id, kind, whole, given);
    }
    for (const part of message.content) if (part.type === 'tool-call') this.#inputs.set(part.callId, part.input);
    this.#close(message.id);
  }

  #rest(message: MessageId, type: Kind, text: string, offset = this.#given.get(type) ?? 0): readonly AnswerPiece[] {
    if (text.length <= offset) return [];
    this.#given.set(type, text.length);
    return [{ type, message, offset, text: text.slice(offset) }];
  }

  #close(message: MessageId): void {
    this.#heard.delete(message);
    if (this.#open === message) this.#open = undefined;
  }

  #restart(seq: number, message: MessageId, reason: string): EventPart<Json> {
    this.#close(message);
    return { type: 'restart', seq, message, reason };
  }

  #inputOf(callId: string): Json {
    return this.#inputs.get(callId) ?? null;
  }

  #partOf(event: SessionEvent): EventPart<Json> | undefined {
    const { seq } = event;
    switch (event.type) {
      case 'run.started':
        return { type: 'started', seq, attempt: event.payload.attempt };
      case 'run.resumed':
      case 'child.resumed':
      case 'session.resumed':
        return { type: 'resumed', seq };
      case 'session.paused':
        return { type: 'paused', seq, reason: event.payload.reason };
      case 'run.waiting':
        return { type: 'waiting', seq, ...event.payload };
      case 'child.waiting': {
        const { for: reason, session, reason: why } = event.payload;
        return { type: 'waiting', seq, for: reason, session, reason: why };
      }
      case 'model.failed':
        return this.#open && this.#restart(seq, this.#open, failureText(event.payload));
      case 'message.abandoned': {
        const { message, why = 'stopped', isRest } = event.payload;
        if (isRest || why === 'failed') return undefined; // another event before it has this part
        return this.#restart(seq, message, restartReasons[why]);
      }
      case 'message.appended':
        return this.#messagePart(seq, event.payload.message);
      case 'tool.called': {
        const { callId, tool, input, ran } = event.payload;
        if (ran === false) return undefined;
        this.#inputs.set(callId, input);
        return { type: 'tool-call', seq, callId, tool, input, attempt: 1 };
      }
      case 'tool.retried': {
        const { callId, tool, attempt } = event.payload;
        return { type: 'tool-call', seq, callId, tool, input: this.#inputOf(callId), attempt };
      }
      case 'approval.requested': {
        const { approval, callId, tool, summary, expiresAt } = event.payload;
        return { type: 'approval', seq, approval, callId, tool, input: this.#inputOf(callId), summary, expiresAt };
      }
      case 'approval.settled':
        return { type: 'approval-settled', seq, ...event.payload };
      case 'question.asked': {
        const { callId, tool, question, options } = event.payload;
        return { type: 'question', seq, callId, tool, question, options };
      }
      case 'question.answered':
        return { type: 'question-answered', seq, ...event.payload };
      default:
        return undefined;
    }
  }

  #messagePart(seq: number, message: Message): EventPart<Json> | undefined {
    if (message.role === 'assistant') return { type: 'message', seq, message };
    if (message.role !== 'tool') return undefined;
    for (const { callId } of message.content) this.#inputs.delete(callId);
    return { type: 'tool-results', seq, results: message.content };
  }
}
