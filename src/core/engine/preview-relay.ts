import { maxNoteBytes, type Notes } from '../ports/notes.ts';
import { type SessionKey, sessionKeyName } from '../ports/store.ts';
import type { CancelTimer, Timekeeper } from '../ports/timekeeper.ts';
import { after, type Preview } from './preview.ts';

/** Delay between two notes about one session. */
const intervalMs = 100;
/** How often a process that shows previews asks whether other processes still have viewers. */
const hailEveryMs = 2000;
/** Maximum text of a session that is kept for its next note, also for a late viewer. The oldest text is dropped. */
const maxCharacters = 64 * 1024;
const maxShown = 1000;

/**
 * `hail` says that the sender executes the session. `ask` says that the sender has viewers. With `anew`, these viewers
 * have received nothing yet.
 */
type Note =
  | { readonly type: 'hail' }
  | { readonly type: 'ask'; readonly anew: boolean }
  | { readonly type: 'shown'; readonly previews: readonly Preview[] };

const parseNote = (text: string): Note | undefined => {
  try {
    return JSON.parse(text) as Note;
  } catch {
    return undefined;
  }
};

/** Splits the previews into as many notes as the size limit requires. */
const notesOf = (previews: readonly Preview[]): readonly string[] => {
  const note: Note = { type: 'shown', previews };
  const text = JSON.stringify(note);
  if (Buffer.byteLength(text) <= maxNoteBytes) return [text];
  const halves = previews.length > 1 ? halvesOf(previews) : previews.flatMap(halvesOfText).map((half) => [half]);
  return halves.flatMap(notesOf);
};

const halvesOf = (previews: readonly Preview[]): readonly (readonly Preview[])[] => {
  const middle = Math.ceil(previews.length / 2);
  return [previews.slice(0, middle), previews.slice(middle)];
};

const halvesOfText = (preview: Preview): readonly Preview[] => {
  const middle = Math.ceil(preview.text.length / 2);
  if (middle === preview.text.length) return [];
  return [{ ...preview, text: preview.text.slice(0, middle) }, after(preview, middle)];
};

/** Adds a preview, and joins consecutive pieces of one text. */
const withPreview = (previews: readonly Preview[], next: Preview): readonly Preview[] => {
  const last = previews.at(-1);
  const goesOn =
    last?.type === 'delta' &&
    next.type === 'delta' &&
    last.message === next.message &&
    last.kind === next.kind &&
    last.offset + last.text.length === next.offset;
  return goesOn ? [...previews.slice(0, -1), { ...last, text: last.text + next.text }] : [...previews, next];
};

/** Keeps the newest text, up to `maxCharacters`. */
const newestOf = (previews: readonly Preview[]): readonly Preview[] => {
  let over = previews.reduce((sum, { text }) => sum + text.length, 0) - maxCharacters;
  return previews.flatMap((preview) => {
    const left = after(preview, Math.max(0, over));
    over -= preview.text.length;
    return left.text === '' ? [] : [left];
  });
};

/** A session whose previews this process produces. */
interface ShownSession {
  readonly key: SessionKey;
  hailedAt: number;
  /** Whether another process has viewers. Stays true while every hail is answered before the next hail. */
  isWanted: boolean;
  isAnswered: boolean;
  waiting: readonly Preview[];
}

export interface RelayOptions {
  /** The text so far of the message that is being written in this process. */
  readonly soFar: (key: SessionKey) => readonly Preview[];
  /** Called with each preview from another process. */
  readonly show: (key: SessionKey, preview: Preview) => void;
  readonly isLookedOn: (key: SessionKey) => boolean;
  readonly lookedOn: () => Iterable<SessionKey>;
}

/**
 * Relays previews between processes by notes. A process that executes a session announces it repeatedly, and processes
 * with viewers answer. Previews are sent only after such an answer, about ten times a second.
 */
export class PreviewRelay {
  readonly #notes: Notes;
  readonly #clock: Timekeeper;
  readonly #options: RelayOptions;
  readonly #shown = new Map<string, ShownSession>();
  #stop: (() => void) | undefined;
  #cancelFlush: CancelTimer | undefined;

  constructor(notes: Notes, clock: Timekeeper, options: RelayOptions) {
    this.#notes = notes;
    this.#clock = clock;
    this.#options = options;
  }

  /** Called with each preview that this process produces. */
  tell(key: SessionKey, preview: Preview): void {
    this.#hear();
    const shown = this.#shownOf(key);
    if (this.#clock.elapsed() - shown.hailedAt >= hailEveryMs) this.#hail(shown);
    if (shown.isWanted) this.#wait(shown, withPreview(shown.waiting, preview));
  }

  /**
   * Called when the message has ended. The session is remembered while other processes have viewers, because those
   * viewers will need the next message.
   */
  over(key: SessionKey): void {
    if (!this.#shown.get(sessionKeyName(key))?.isWanted) this.#shown.delete(sessionKeyName(key));
  }

  /** Called when a viewer in this process begins to watch the session. */
  ask(key: SessionKey): void {
    // Starting to listen also sends `ask` for every session with viewers in this process.
    if (!this.#hear()) this.#send(key, { type: 'ask', anew: true });
  }

  close(): void {
    this.#cancelFlush?.();
    this.#stop?.();
    this.#stop = () => undefined;
  }

  /** Returns true if this call started to listen. */
  #hear(): boolean {
    if (this.#stop) return false;
    this.#stop = this.#notes.hearNotes(
      (key, text) => this.#heard(key, parseNote(text)),
      () => {
        for (const key of this.#options.lookedOn()) this.#send(key, { type: 'ask', anew: true });
      },
    );
    return true;
  }

  #heard(key: SessionKey, note: Note | undefined): void {
    if (note?.type === 'hail' && this.#options.isLookedOn(key)) this.#send(key, { type: 'ask', anew: false });
    if (note?.type === 'shown') for (const preview of note.previews) this.#options.show(key, preview);
    if (note?.type === 'ask') this.#asked(key, note.anew);
  }

  #asked(key: SessionKey, anew: boolean): void {
    const shown = this.#shown.get(sessionKeyName(key));
    if (!shown) return;
    const isNew = anew || !shown.isWanted;
    shown.isWanted = true;
    shown.isAnswered = true;
    if (!isNew) return;
    const others = shown.waiting.filter(({ type }) => type !== 'delta');
    this.#wait(shown, [...others, ...this.#options.soFar(key)]);
  }

  #shownOf(key: SessionKey): ShownSession {
    const name = sessionKeyName(key);
    const known = this.#shown.get(name);
    if (known) return known;
    if (this.#shown.size >= maxShown) this.#forgetSilent();
    const shown = {
      key,
      hailedAt: Number.NEGATIVE_INFINITY,
      isWanted: false,
      isAnswered: false,
      waiting: [],
    };
    this.#shown.set(name, shown);
    return shown;
  }

  #forgetSilent(): void {
    const before = this.#clock.elapsed() - 2 * hailEveryMs;
    for (const [name, { hailedAt }] of this.#shown) if (hailedAt < before) this.#shown.delete(name);
  }

  #hail(shown: ShownSession): void {
    shown.isWanted &&= shown.isAnswered;
    shown.isAnswered = false;
    shown.hailedAt = this.#clock.elapsed();
    this.#send(shown.key, { type: 'hail' });
  }

  #wait(shown: ShownSession, previews: readonly Preview[]): void {
    shown.waiting = newestOf(previews);
    this.#cancelFlush ??= this.#clock.after(intervalMs, () => this.#flush());
  }

  #flush(): void {
    this.#cancelFlush = undefined;
    for (const shown of this.#shown.values()) {
      for (const note of notesOf(shown.waiting)) this.#notes.sendNote(shown.key, note);
      shown.waiting = [];
    }
  }

  #send(key: SessionKey, note: Note): void {
    this.#notes.sendNote(key, JSON.stringify(note));
  }
}
