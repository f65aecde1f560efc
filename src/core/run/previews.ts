import type { ModelDelta } from '../ports/model.ts';
import type { SessionKey } from '../ports/store.ts';
import type { RedactedStream, Redactor } from '../session/redact.ts';

/** What is shown while it happens and is not part of the log. */
export type Preview =
  /** `offset` counts what was shown of this kind of text in the message before: whoever missed a piece sees that. */
  ({ readonly type: 'delta'; readonly message: string; readonly offset: number } & ModelDelta) | Progress;

interface Progress {
  readonly type: 'progress';
  readonly callId: string;
  readonly text: string;
}

/** As it is told by who writes. */
export type Written = ({ readonly type: 'delta'; readonly message: string } & ModelDelta) | Progress;

type Listener = (preview: Preview) => void;

/** Shows texts piece by piece without the secrets in them, also where one is cut by the pieces. A text is over when one of another kind begins. */
export class ShownText<Kind> {
  readonly #redactor: Redactor;
  readonly #show: (kind: Kind, text: string) => void;
  #current: { readonly kind: Kind; readonly stream: RedactedStream } | undefined;

  constructor(redactor: Redactor, show: (kind: Kind, text: string) => void) {
    this.#redactor = redactor;
    this.#show = show;
  }

  push(kind: Kind, piece: string): void {
    if (this.#current?.kind !== kind) this.end();
    this.#current ??= { kind, stream: this.#redactor.stream() };
    this.#tell(kind, this.#current.stream.push(piece));
  }

  /** What was held back. */
  end(): void {
    const current = this.#current;
    this.#current = undefined;
    if (current) this.#tell(current.kind, current.stream.end());
  }

  #tell(kind: Kind, text: string): void {
    if (text !== '') this.#show(kind, text);
  }
}

const nameOf = ({ workspace, session }: SessionKey): string => `${workspace}/${session}`;

/** The message that is being written, in the order in which its kinds of text began. */
interface Writing {
  readonly message: string;
  readonly texts: Map<ModelDelta['kind'], string>;
}

/** Shows what is being written and done to those who look on in this process. The log knows nothing of it. */
export class Previews {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #writing = new Map<string, Writing>();

  listen(key: SessionKey, listener: Listener): () => void {
    const name = nameOf(key);
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(listener));
    const { message, texts } = this.#writing.get(name) ?? {};
    for (const [kind, text] of texts ?? []) listener({ type: 'delta', message: message!, kind, offset: 0, text });
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#listeners.delete(name);
    };
  }

  tell(key: SessionKey, written: Written): void {
    const name = nameOf(key);
    const preview = written.type === 'delta' ? { ...written, offset: this.#keep(name, written) } : written;
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(preview);
  }

  /** The message is in the log, or will never be: who comes now is shown nothing of it. */
  over(key: SessionKey): void {
    this.#writing.delete(nameOf(key));
  }

  /** For those who come later; gives how much there was before. */
  #keep(name: string, { message, kind, text }: Extract<Written, { type: 'delta' }>): number {
    const before = this.#writing.get(name);
    const writing = before?.message === message ? before : { message, texts: new Map() };
    const shown = writing.texts.get(kind) ?? '';
    writing.texts.set(kind, shown + text);
    this.#writing.set(name, writing);
    return shown.length;
  }
}
