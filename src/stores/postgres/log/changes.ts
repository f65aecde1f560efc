import { type SessionKey, sessionKeyName, type WakeForSession } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { announceMissedChanges } from '../../waking/missed-changes.ts';
import { type Change, Watchers } from '../../waking/watchers.ts';
import { hasFreeWork } from '../queue/work-rows.ts';
import { type Database, prepared } from '../server/database.ts';
import { HintProbe, type TellSilence } from '../server/hint-probe.ts';
import { Listener } from '../server/listener.ts';
import { NotePost, noteChannel } from '../server/note-post.ts';
import type { NoteSeal } from '../server/note-seal.ts';
import { Notifier, parseChange } from '../server/notifier.ts';
import { listSessions } from './list-sessions.ts';

const findSeqs = prepared(
  'find_seqs',
  `select s.* from unnest($2::text[]) asked(id)
   cross join lateral (select id, seq, at from perdure.sessions where workspace = $1 and id = asked.id limit 1) s`,
);

/** When more hints than this wait for verification, polling covers the rest. */
const maxHints = 10_000;

export interface ChangesOptions {
  readonly listenUrl: string;
  readonly noteSeal: NoteSeal;
  readonly keepAliveMs: number;
  readonly fallbackPollMs: number;
  /** Called when the first follower is added. */
  readonly onListen: () => void;
  /**
   * Reports that no hints arrive. Only set for a separate listen address, which may be wrong while the store itself
   * works.
   */
  readonly tellSilence?: TellSilence | undefined;
}

/**
 * Wakes followers: in this process immediately, in other processes through NOTIFY. Slow polling covers lost
 * notifications.
 */
export class Changes {
  readonly #database: Database;
  readonly #watchers = new Watchers();
  readonly #notifier: Notifier;
  readonly #notes: NotePost;
  readonly #listener: Listener;
  readonly #probe: HintProbe | undefined;
  readonly #pollMs: number;
  readonly #onListen: () => void;
  /** Hinted sessions to verify before the watchers of their workspaces are notified. */
  readonly #hints = new Map<string, SessionKey>();
  #askingHinted: Promise<void> | undefined;
  #poll: NodeJS.Timeout | undefined;
  /** Workspace watchers have been notified of every change before this time. */
  #toldMs = 0;

  constructor(database: Database, options: ChangesOptions) {
    const { listenUrl, noteSeal, keepAliveMs, fallbackPollMs, onListen, tellSilence } = options;
    this.#database = database;
    this.#pollMs = fallbackPollMs;
    this.#onListen = onListen;
    this.#notifier = new Notifier(database);
    this.#notes = new NotePost(database, noteSeal);
    this.#probe = tellSilence && new HintProbe(database, tellSilence);
    this.#listener = new Listener({
      url: listenUrl,
      keepAliveMs,
      onListening: () => {
        this.#notes.listening();
        this.#watchers.wakeAll();
        void this.#announceMissedChanges().catch(() => undefined);
        void this.#probe?.send();
      },
      onStanding: () => this.#probe?.stands(),
      onFailure: async (problem) => this.#probe?.failed(problem),
      onNotification: (on, payload) => {
        if (on === noteChannel) return this.#notes.heard(payload);
        this.#probe?.heard(payload);
        const change = parseChange(payload);
        if (change) this.#hinted(change);
      },
    });
  }

  committed(changes: readonly Change[]): void {
    this.#watchers.committed(changes);
    this.#notifier.notify(changes);
  }

  watch(key: SessionKey, wake: (seq?: number) => void): () => void {
    this.#start();
    const remove = this.#watchers.add(key, wake);
    return () => void remove();
  }

  watchWork(workspace: WorkspaceId | undefined, wake: () => void): () => void {
    this.#start();
    const remove = this.#watchers.addWorker(workspace, wake);
    return () => void remove();
  }

  watchWorkspace(workspace: WorkspaceId, wake: WakeForSession): () => void {
    this.#start();
    const remove = this.#watchers.addHearer(workspace, wake);
    return () => void remove();
  }

  sendNote(key: SessionKey, text: string): void {
    this.#notes.send(key, text);
  }

  hearNotes(hear: (key: SessionKey, text: string) => void, onHearing: () => void): () => void {
    this.#start();
    if (this.#listener.isListening) queueMicrotask(onHearing);
    return this.#notes.add({ hear, onHearing });
  }

  wakeWorkers(workspace: WorkspaceId): void {
    this.#watchers.wakeWorkers(new Set([workspace]));
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    this.#watchers.clear();
    await Promise.all([this.#notifier.flush(), this.#notes.close(), this.#listener.close(), this.#askingHinted]);
  }

  #start(): void {
    if (this.#poll) return;
    this.#onListen();
    this.#listener.start();
    this.#toldMs = Date.now();
    this.#poll = setInterval(() => void this.#look().catch(() => undefined), this.#pollMs).unref();
  }

  async #announceMissedChanges(): Promise<void> {
    const now = Date.now();
    await announceMissedChanges(
      this.#watchers,
      (workspace, query) => listSessions(this.#database, workspace, query),
      this.#toldMs,
    );
    this.#toldMs = now;
  }

  async #look(): Promise<void> {
    await this.#announceMissedChanges();
    if (this.#watchers.anyWorker && (await hasFreeWork(this.#database))) this.#watchers.wakeWorkers();
    this.#watchers.found(await this.#headsOf(this.#watchers.keys));
  }

  /**
   * Anyone with access to the database can send a hint. So the store reads the head before it notifies workspace
   * watchers.
   */
  #hinted(change: Change): void {
    this.#watchers.hinted([change]);
    if (!this.#watchers.isHeard(change.workspace) || this.#hints.size >= maxHints) return;
    this.#hints.set(sessionKeyName(change), change);
    this.#askingHinted ??= this.#tellHinted();
  }

  /**
   * Verifies the waiting hints, and notifies workspace watchers. Hints that arrive meanwhile are verified together in
   * the next round. Polling covers failures.
   */
  async #tellHinted(): Promise<void> {
    while (this.#hints.size > 0) {
      const hints = [...this.#hints.values()];
      this.#hints.clear();
      for (const change of await this.#headsOf(hints).catch(() => [])) this.#watchers.tell(change);
    }
    this.#askingHinted = undefined;
  }

  /** The newest seq of each session that exists. */
  async #headsOf(keys: readonly SessionKey[]): Promise<readonly Change[]> {
    const changes: Change[] = [];
    for (const [workspace, asked] of Map.groupBy(keys, (key) => key.workspace)) {
      const statement = findSeqs(
        workspace,
        asked.map(({ session }) => session),
      );
      const rows = await this.#database.read<{ id: SessionId; seq: number; at: number }>(workspace, statement);
      changes.push(...rows.map(({ id, seq, at }) => ({ workspace, session: id, seq, at, work: false })));
    }
    return changes;
  }
}
