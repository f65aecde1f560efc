import type { ModelDelta } from '../ports/model.ts';
import type { Notes } from '../ports/notes.ts';
import { type SessionKey, sessionKeyName } from '../ports/store.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import type { RedactedStream, Redactor } from '../session/redaction/redact.ts';
import { after, type Preview, type Written } from './preview.ts';
import { PreviewRelay } from './preview-relay.ts';

type Listener = (preview: Preview) => void;

/**
 * Shows texts to viewers piece by piece and redacts secrets, including a secret that is split between pieces. A text
 * ends when a text of another kind begins.
 */
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

  /** Shows the text that was held back because it could have been the start of a secret. */
  end(): void {
    const current = this.#current;
    this.#current = undefined;
    if (current) this.#tell(current.kind, current.stream.end());
  }

  #tell(kind: Kind, text: string): void {
    if (text !== '') this.#show(kind, text);
  }
}

/** The message that is being written, in the order in which its kinds of text began. */
interface Writing {
  readonly message: string;
  readonly texts: Map<ModelDelta['kind'], string>;
}

/**
 * A viewer, which receives each piece once. Earlier text may be sent to all viewers again because another viewer
 * joined late.
 */
class Viewer {
  readonly #listener: Listener;
  #message: string | undefined;
  readonly #ends = new Map<ModelDelta['kind'], number>();

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  show(preview: Preview): void {
    const unseen = preview.type === 'delta' ? this.#unseen(preview) : preview;
    if (unseen) this.#listener(unseen);
  }

  #unseen(preview: Extract<Preview, { type: 'delta' }>): Preview | undefined {
    const { message, kind, offset, text } = preview;
    if (message !== this.#message) this.#ends.clear();
    this.#message = message;
    const seen = Math.max(0, (this.#ends.get(kind) ?? 0) - offset);
    if (seen >= text.length) return undefined;
    this.#ends.set(kind, offset + text.length);
    return after(preview, seen);
  }
}

interface WatchedSession {
  readonly key: SessionKey;
  readonly viewers: Set<Viewer>;
}

/** Shows output in progress to viewers in this process and in others. */
export class Previews {
  readonly #watched = new Map<string, WatchedSession>();
  readonly #writing = new Map<string, Writing>();
  readonly #storing = new Map<string, () => Promise<void>>();
  readonly #relay: PreviewRelay;

  constructor(notes: Notes, clock: Timekeeper, closing: AbortSignal) {
    this.#relay = new PreviewRelay(notes, clock, {
      soFar: (key) => this.#soFar(sessionKeyName(key)),
      show: (key, preview) => this.#show(sessionKeyName(key), preview),
      isLookedOn: (key) => this.#watched.has(sessionKeyName(key)),
      lookedOn: () => [...this.#watched.values()].map(({ key }) => key),
    });
    closing.addEventListener('abort', () => this.#relay.close(), { once: true });
  }

  listen(key: SessionKey, listener: Listener): () => void {
    const name = sessionKeyName(key);
    const { viewers } = this.#watched.get(name) ?? { viewers: new Set<Viewer>() };
    const viewer = new Viewer(listener);
    this.#watched.set(name, { key, viewers: viewers.add(viewer) });
    for (const preview of this.#soFar(name)) viewer.show(preview);
    this.#relay.ask(key);
    return () => {
      viewers.delete(viewer);
      if (viewers.size === 0) this.#watched.delete(name);
    };
  }

  tell(key: SessionKey, written: Written): void {
    const name = sessionKeyName(key);
    const preview = written.type === 'delta' ? { ...written, offset: this.#keep(name, written) } : written;
    this.#show(name, preview);
    this.#relay.tell(key, preview);
  }

  /** Called when the message is in the log, or when it will never be. New viewers receive nothing of this message. */
  over(key: SessionKey): void {
    this.#writing.delete(sessionKeyName(key));
    this.#relay.over(key);
  }

  /** Registers how to store what was shown of the message that is being written in this process. */
  storeBy(key: SessionKey, store: () => Promise<void>): () => void {
    const name = sessionKeyName(key);
    this.#storing.set(name, store);
    return () => void (this.#storing.get(name) === store && this.#storing.delete(name));
  }

  /** Stores what this process has shown of the message that is being written. Does not reject. */
  async store(key: SessionKey): Promise<void> {
    await this.#storing.get(sessionKeyName(key))?.();
  }

  #show(name: string, preview: Preview): void {
    for (const viewer of [...(this.#watched.get(name)?.viewers ?? [])]) viewer.show(preview);
  }

  #soFar(name: string): readonly Preview[] {
    const { message, texts } = this.#writing.get(name) ?? {};
    return [...(texts ?? [])].map(([kind, text]) => ({ type: 'delta', message: message!, kind, offset: 0, text }));
  }

  /** Keeps the text for viewers that join later. Returns the length of the text kept before this piece. */
  #keep(name: string, { message, kind, text }: Extract<Written, { type: 'delta' }>): number {
    const before = this.#writing.get(name);
    const writing = before?.message === message ? before : { message, texts: new Map() };
    const shown = writing.texts.get(kind) ?? '';
    writing.texts.set(kind, shown + text);
    this.#writing.set(name, writing);
    return shown.length;
  }
}
