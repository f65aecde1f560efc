import { pause } from '../../../concurrency/pause.ts';
import { sessionKeyName } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { isCount } from '../../is-count.ts';
import { type Change, joined } from '../../waking/watchers.ts';
import { type Database, prepared } from './database.ts';

export const channel = 'perdure';
/** The minimum time between two notifications. */
export const intervalMs = 10;

/** Does not wait for the disk, because hints need no durability. */
export const notify = prepared(
  'notify',
  `select set_config('synchronous_commit', 'off', true), pg_notify($1, hint) from unnest($2::text[]) hint`,
);

const textOf = ({ seq, work, ...key }: Change): string => `${sessionKeyName(key)}/${seq}${work ? '/work' : ''}`;
/** Parses the text of a notification. Returns undefined if it is not in our format. */
export const parseChange = (text = ''): Change | undefined => {
  const [workspace, session, seq, work] = text.split('/');
  if (!workspace || !session || !seq || !isCount(Number(seq))) return undefined;
  return {
    workspace: workspace as WorkspaceId,
    session: session as SessionId,
    seq: Number(seq),
    work: work === 'work',
  };
};

/**
 * Notifies other processes which sessions changed. It sends after the commit, because NOTIFY inside a transaction
 * serializes all commits. The first change is sent immediately, and later ones are batched. A failure loses nothing,
 * because followers also poll.
 */
export class Notifier {
  readonly #database: Database;
  readonly #pending = new Map<string, Change>();
  #sending: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  notify(changes: readonly Change[]): void {
    for (const change of changes) {
      const name = sessionKeyName(change);
      this.#pending.set(name, joined(this.#pending.get(name), change));
    }
    if (this.#pending.size > 0) this.#sending ??= this.#send();
  }

  async flush(): Promise<void> {
    while (this.#sending) await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const texts = [...this.#pending.values()].map(textOf);
      this.#pending.clear();
      const sent = this.#database.use((client) => client.query(notify(channel, texts))).catch(() => undefined);
      await Promise.all([sent, pause(intervalMs, { keepsAlive: false })]);
    }
    this.#sending = undefined;
  }
}
