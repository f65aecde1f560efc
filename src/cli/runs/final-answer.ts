import type { SessionEvent } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Message } from '../../schema/message.ts';

/** A text to write: the final answer of a run, or any other text of its model. */
export interface HeldText {
  readonly kind: 'text' | 'aside';
  readonly text: string;
}

const textOf = ({ content }: Message): string =>
  content.map((part: Message['content'][number]) => (part.type === 'text' ? part.text : '')).join('');

/** Holds answers back until their run has ended, for a reader that wants only the final one. */
export class FinalAnswer {
  readonly #isWanted: (run: RunId | undefined) => boolean;
  #held = '';

  constructor(isWanted: (run: RunId | undefined) => boolean) {
    this.#isWanted = isWanted;
  }

  /** Takes a complete answer. An answer with calls, or one before another answer, is not final. */
  answered(message: Message): readonly HeldText[] {
    const before = this.#takeAside();
    this.#held = textOf(message);
    const isFinal = message.content.every(({ type }) => type !== 'tool-call');
    return isFinal ? before : [...before, ...this.#takeAside()];
  }

  ended({ run, payload }: SessionEvent<'run.ended'>): readonly HeldText[] {
    const kind = payload.status === 'succeeded' && this.#isWanted(run) ? 'text' : 'aside';
    return this.#takeAside().map(({ text }) => ({ kind, text }));
  }

  #takeAside(): readonly HeldText[] {
    const text = this.#held;
    this.#held = '';
    return text === '' ? [] : [{ kind: 'aside', text }];
  }
}
