import type { ModelDelta } from '../ports/model.ts';
import type { SessionKey } from '../ports/store.ts';
import type { RedactedStream, Redactor } from '../session/redact.ts';

/** What is shown while it happens and is not part of the log. */
export type Preview =
  | ({ readonly type: 'delta'; readonly message: string } & ModelDelta)
  | { readonly type: 'progress'; readonly callId: string; readonly text: string };

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

/** Shows what is being written and done to those who look on in this process. The log knows nothing of it. */
export class Previews {
  readonly #listeners = new Map<string, Set<Listener>>();

  listen(key: SessionKey, listener: Listener): () => void {
    const name = nameOf(key);
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#listeners.delete(name);
    };
  }

  tell(key: SessionKey, preview: Preview): void {
    for (const listener of this.#listeners.get(nameOf(key)) ?? []) listener(preview);
  }
}
