import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Message } from '../../schema/message.ts';
import type { AnswerPiece, RunPart } from '../../schema/run-part.ts';
import { truncate, wrap } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Style, Terminal } from '../terminal/terminal.ts';
import { type Activity, activityOf } from './activity.ts';
import { FinalAnswer, type HeldText } from './final-answer.ts';
import { FlowingText } from './flowing-text.ts';
import type { Person } from './person.ts';

type Kind = 'text' | 'reasoning';
/** Text on its way to a terminal. `aside` is text of the model that is not its final answer. */
type Flow = Kind | 'aside';

interface Answer {
  readonly shown: Record<Kind, string>;
  /** Pieces that arrived before the event that records the model call. */
  readonly early: AnswerPiece[];
  isAsked: boolean;
}

const maxProse = 100;

const textOf = ({ content }: Message, kind: Kind): string =>
  content.map((part: Message['content'][number]) => (part.type === kind ? part.text : '')).join('');

/**
 * Prints a run as it happens: answers to stdout, everything else to stderr, all in order. If stdout is not a terminal,
 * it gets only the final answer of each run, when the run has ended.
 */
export class LivePrinter {
  readonly #out: Terminal;
  readonly #err: Terminal;
  readonly #person: Person | undefined;
  readonly #final: FinalAnswer | undefined;
  readonly #answers = new Map<string, Answer>();
  /** Text typed here, which is not shown again. */
  readonly #typed: string[] = [];
  #flow: { readonly kind: Flow; readonly text: FlowingText } | undefined;
  #hasProgress = false;
  #tail: Promise<void> = Promise.resolve();

  /** `isWanted` says whether stdout gets the final answer of a run. */
  constructor(
    terminals: { readonly out: Terminal; readonly err: Terminal },
    person?: Person | undefined,
    isWanted: (run: RunId | undefined) => boolean = () => true,
  ) {
    this.#out = terminals.out;
    this.#err = terminals.err;
    this.#person = person;
    this.#final = terminals.out.isTerminal ? undefined : new FinalAnswer(isWanted);
  }

  /** Resolves when everything has been written. Rejects if writing failed. */
  get settled(): Promise<void> {
    return this.#tail;
  }

  hide(typed: string): void {
    this.#typed.push(typed);
  }

  note(text: string, style: Style = 'dim'): void {
    this.#later(() => this.#lines([{ mark: '', text, style, whole: true }]));
  }

  /** Shows a piece of an answer before it is in the log. Everything else is shown when its event arrives. */
  piece(part: RunPart): void {
    if (part.type === 'tool-progress') this.#later(() => this.#progress(part.text));
    else if ('offset' in part) this.#later(() => this.#piece(part));
  }

  event(event: SessionEvent): void {
    this.#later(() => this.#print(event));
  }

  /** Ends the line that is being written. */
  breakLine(): void {
    this.#later(() => this.#endFlow());
  }

  /** Ends the line synchronously, because a person begins to type. */
  breakNow(): void {
    const progress = this.#hasProgress ? '\r\x1b[K' : '';
    this.#hasProgress = false;
    const text = progress + (this.#flow?.text.breakLine() ?? '');
    if (text !== '') void this.#err.write(text).catch(() => undefined);
  }

  #later(write: () => Promise<void>): void {
    this.#tail = this.#tail.then(async () => {
      await this.#person?.isSilent();
      await write();
    });
    this.#tail.catch(() => undefined); // `settled` reports it
  }

  #terminalOf(kind: Flow): Terminal {
    return kind === 'text' ? this.#out : this.#err;
  }

  #answer(message: string): Answer {
    const known = this.#answers.get(message) ?? { shown: { text: '', reasoning: '' }, early: [], isAsked: false };
    this.#answers.set(message, known);
    return known;
  }

  async #piece(piece: AnswerPiece): Promise<void> {
    const { type, text, message } = piece;
    const answer = this.#answer(message);
    if (type === 'tool-input' || (type === 'text' && this.#final)) return;
    if (!answer.isAsked) return void answer.early.push(piece);
    answer.shown[type] += text;
    await this.#write(type, text);
  }

  async #write(kind: Flow, text: string): Promise<void> {
    if (text === '') return;
    await this.#clearProgress();
    if (this.#flow?.kind !== kind) await this.#endFlow();
    const terminal = this.#terminalOf(kind);
    this.#flow ??= {
      kind,
      text: new FlowingText(Math.min(terminal.columns, terminal.isTerminal ? maxProse : Infinity)),
    };
    await this.#put(kind, this.#flow.text.feed(text));
  }

  #put(kind: Flow, text: string): Promise<void> {
    if (text === '') return Promise.resolve();
    const terminal = this.#terminalOf(kind);
    return terminal.write(kind === 'reasoning' ? terminal.style('dim', text) : text);
  }

  async #endFlow(): Promise<void> {
    const flow = this.#flow;
    this.#flow = undefined;
    if (flow) await this.#put(flow.kind, flow.text.end());
  }

  async #lines(activities: readonly Activity[]): Promise<void> {
    if (activities.length === 0) return;
    await this.#clearProgress();
    await this.#endFlow();
    const { columns } = this.#err;
    const lines = activities.flatMap(({ mark, text, style, whole }) =>
      (whole
        ? mark
          ? hangingIndent(mark, text, columns)
          : wrap(text, columns)
        : [truncate(mark + text, Math.min(columns, 200))]
      ).map((line) => this.#err.style(style, line)),
    );
    await this.#err.write(lines.map((line) => `${line}\n`).join(''));
  }

  /** Writes a line that the next output overwrites; only on terminals that support it. */
  async #progress(text: string): Promise<void> {
    const paints = this.#err.isTerminal && this.#err.style('dim', 'x') !== 'x';
    if (!paints) return;
    await this.#endFlow();
    await this.#clearProgress();
    this.#hasProgress = true;
    await this.#err.write(this.#err.style('dim', truncate(`  ${printableLine(text)}`, this.#err.columns - 1)));
  }

  async #clearProgress(): Promise<void> {
    if (!this.#hasProgress) return;
    this.#hasProgress = false;
    await this.#err.write('\r\x1b[K');
  }

  async #print(event: SessionEvent): Promise<void> {
    if (event.type === 'model.called') return this.#asked(event.payload.message);
    if (event.type === 'message.abandoned') return this.#abandoned(event.payload);
    if (event.type === 'message.appended' && event.payload.message.role === 'assistant') {
      return this.#finish(event.payload.message);
    }
    if (this.#isTyped(event)) return;
    if (event.type === 'run.ended') await this.#writeHeld(this.#final?.ended(event));
    await this.#lines(activityOf(event));
  }

  #isTyped(event: SessionEvent): boolean {
    if (event.type !== 'message.appended' || event.payload.message.role !== 'user') return false;
    const index = this.#typed.indexOf(textOf(event.payload.message, 'text'));
    if (index >= 0) this.#typed.splice(index, 1);
    return index >= 0;
  }

  async #asked(message: string): Promise<void> {
    const answer = this.#answer(message);
    answer.isAsked = true;
    for (const piece of answer.early.splice(0)) await this.#piece(piece);
  }

  async #writeHeld(held: readonly HeldText[] = []): Promise<void> {
    for (const { kind, text } of held) {
      await this.#endFlow();
      await this.#write(kind, text);
    }
    await this.#endFlow();
  }

  /** Writes what was not shown of a broken-off answer. A rest was shown here if the run was followed. */
  async #abandoned({ message, content = [], isRest }: PayloadOf<'message.abandoned'>): Promise<void> {
    const { shown } = this.#answer(message);
    this.#answers.delete(message);
    if (isRest && !this.#final) return;
    for (const { type, text } of content) {
      const rest = text.startsWith(shown[type]) ? text.slice(shown[type].length) : '';
      await this.#write(type === 'text' && this.#final ? 'aside' : type, rest);
    }
    await this.#endFlow();
    if (isRest || (shown.text + shown.reasoning === '' && content.length === 0)) return;
    await this.#lines([{ mark: '· ', text: 'this answer was cut off', style: 'dim', whole: true }]);
  }

  async #finish(message: Message): Promise<void> {
    const { shown } = this.#answer(message.id);
    this.#answers.delete(message.id);
    const begins = (kind: Kind) => textOf(message, kind).startsWith(shown[kind]);
    const rest = (kind: Kind) => textOf(message, kind).slice(shown[kind].length);
    // The last previews may arrive after the event, or never.
    if (!(begins('text') && begins('reasoning')) || (shown.text !== '' && rest('reasoning') !== '')) {
      await this.#lines([{ mark: '· ', text: 'the whole answer:', style: 'dim', whole: true }]);
      shown.text = '';
      shown.reasoning = '';
    }
    await this.#write('reasoning', rest('reasoning'));
    if (this.#final) return this.#writeHeld(this.#final.answered(message));
    await this.#write('text', rest('text'));
    await this.#endFlow();
  }
}
