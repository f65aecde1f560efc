import { maxNoteBytes } from '../../../core/ports/notes.ts';
import { type SessionKey, sessionKeyName } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import type { Database } from './database.ts';
import type { NoteSeal } from './note-seal.ts';
import { notify } from './notifier.ts';

export const noteChannel = 'perdure_notes';
/** When more notes than this wait to be sent, the oldest are dropped. */
const maxWaiting = 1000;

interface Hearer {
  readonly hear: (key: SessionKey, text: string) => void;
  readonly onHearing: () => void;
}

/** Sends notes between processes, as notifications on a separate channel. */
export class NotePost {
  readonly #database: Database;
  readonly #seal: NoteSeal;
  readonly #hearers = new Set<Hearer>();
  #waiting: string[] = [];
  #sending: Promise<void> | undefined;

  constructor(database: Database, seal: NoteSeal) {
    this.#database = database;
    this.#seal = seal;
  }

  send(key: SessionKey, text: string): void {
    if (Buffer.byteLength(text) > maxNoteBytes) return;
    this.#waiting.push(this.#seal.seal(`${sessionKeyName(key)}/${text}`));
    if (this.#waiting.length > maxWaiting) this.#waiting.shift();
    this.#sending ??= this.#send();
  }

  add(hearer: Hearer): () => void {
    this.#hearers.add(hearer);
    return () => void this.#hearers.delete(hearer);
  }

  /** Called when listening has begun, so that notes can arrive. */
  listening(): void {
    for (const { onHearing } of this.#hearers) queueMicrotask(onHearing);
  }

  heard(payload: string): void {
    const note = this.#seal.open(payload) ?? '';
    const [, workspace, session, text] = /^([^/]*)\/([^/]*)\/(.*)$/s.exec(note) ?? [];
    if (!workspace || !session || text === undefined) return;
    const key = { workspace: workspace as WorkspaceId, session: session as SessionId };
    for (const { hear } of this.#hearers) queueMicrotask(() => hear(key, text));
  }

  async close(): Promise<void> {
    this.#hearers.clear();
    while (this.#sending) await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const texts = this.#waiting;
      this.#waiting = [];
      await this.#database.use((client) => client.query(notify(noteChannel, texts))).catch(() => undefined);
    }
    this.#sending = undefined;
  }
}
