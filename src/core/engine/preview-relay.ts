import { maxNoteBytes, type Notes } from '../ports/notes.ts';
import { type SessionKey, sessionKeyName } from '../ports/store.ts';
import type { CancelTimer, Timekeeper } from '../ports/timekeeper.ts';
import { after, type Preview } from './preview.ts';

/** Between two notes of a session. */
const intervalMs = 100;
/** How often those who look on are asked whether they still do. */
const hailEveryMs = 2000;
/** What waits for the next note of a session, and what one who comes late is shown: no more than the newest. */
const maxCharacters = 64 * 1024;
const maxTold = 1000;

/** `hail`: somebody works on the session. `ask`: somebody looks on, and has seen nothing yet (`anew`) or wants to see more. */
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

/** As many notes as it takes. */
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

/** With one more; pieces of one text become one. */
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

/** The newest that there is room for. */
const newestOf = (previews: readonly Preview[]): readonly Preview[] => {
  let over = previews.reduce((sum, { text }) => sum + text.length, 0) - maxCharacters;
  return previews.flatMap((preview) => {
    const left = after(preview, Math.max(0, over));
    over -= preview.text.length;
    return left.text === '' ? [] : [left];
  });
};

/** A session in which something is shown by this process. */
interface Told {
  readonly key: SessionKey;
  hailedAt: number;
  /** Somebody elsewhere looks on, and said so since the last hail. */
  isWanted: boolean;
  isAnswered: boolean;
  waiting: readonly Preview[];
}

export interface RelayOptions {
  /** What there was of the message that is being written here. */
  readonly soFar: (key: SessionKey) => readonly Preview[];
  /** Shown by another process. */
  readonly show: (key: SessionKey, preview: Preview) => void;
  readonly isLookedOn: (key: SessionKey) => boolean;
  readonly lookedOn: () => Iterable<SessionKey>;
}

/**
 * Previews between processes, by notes: who works on a session says so now and then, who looks on answers, and only then is anything sent,
 * about ten times a second.
 */
export class PreviewRelay {
  readonly #notes: Notes;
  readonly #clock: Timekeeper;
  readonly #options: RelayOptions;
  readonly #told = new Map<string, Told>();
  #stop: (() => void) | undefined;
  #cancelFlush: CancelTimer | undefined;

  constructor(notes: Notes, clock: Timekeeper, options: RelayOptions) {
    this.#notes = notes;
    this.#clock = clock;
    this.#options = options;
  }

  /** Something is shown here. */
  tell(key: SessionKey, preview: Preview): void {
    this.#hear();
    const told = this.#toldOf(key);
    if (this.#clock.elapsed() - told.hailedAt >= hailEveryMs) this.#hail(told);
    if (told.isWanted) this.#wait(told, withPreview(told.waiting, preview));
  }

  /** The message is over. Who looks on will want to see the next. */
  over(key: SessionKey): void {
    if (!this.#told.get(sessionKeyName(key))?.isWanted) this.#told.delete(sessionKeyName(key));
  }

  /** Somebody here looks on. */
  ask(key: SessionKey): void {
    // Who begins to hear asks for all that is looked on.
    if (!this.#hear()) this.#send(key, { type: 'ask', anew: true });
  }

  close(): void {
    this.#cancelFlush?.();
    this.#stop?.();
    this.#stop = () => undefined;
  }

  /** True when it begins only now. */
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
    const told = this.#told.get(sessionKeyName(key));
    if (!told) return;
    const isNew = anew || !told.isWanted;
    told.isWanted = true;
    told.isAnswered = true;
    if (!isNew) return;
    const others = told.waiting.filter(({ type }) => type !== 'delta');
    this.#wait(told, [...others, ...this.#options.soFar(key)]);
  }

  #toldOf(key: SessionKey): Told {
    const name = sessionKeyName(key);
    const known = this.#told.get(name);
    if (known) return known;
    if (this.#told.size >= maxTold) this.#forgetSilent();
    const told = {
      key,
      hailedAt: Number.NEGATIVE_INFINITY,
      isWanted: false,
      isAnswered: false,
      waiting: [],
    };
    this.#told.set(name, told);
    return told;
  }

  #forgetSilent(): void {
    const before = this.#clock.elapsed() - 2 * hailEveryMs;
    for (const [name, { hailedAt }] of this.#told) if (hailedAt < before) this.#told.delete(name);
  }

  #hail(told: Told): void {
    told.isWanted &&= told.isAnswered;
    told.isAnswered = false;
    told.hailedAt = this.#clock.elapsed();
    this.#send(told.key, { type: 'hail' });
  }

  #wait(told: Told, previews: readonly Preview[]): void {
    told.waiting = newestOf(previews);
    this.#cancelFlush ??= this.#clock.after(intervalMs, () => this.#flush());
  }

  #flush(): void {
    this.#cancelFlush = undefined;
    for (const told of this.#told.values()) {
      for (const note of notesOf(told.waiting)) this.#notes.sendNote(told.key, note);
      told.waiting = [];
    }
  }

  #send(key: SessionKey, note: Note): void {
    this.#notes.sendNote(key, JSON.stringify(note));
  }
}
