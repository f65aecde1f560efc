import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Change } from '../watchers.ts';

export interface Changes {
  start(): void;
  stop(): void;
}

/** A busy writer touches the file far more often than anyone wants to be woken. */
const minIntervalMs = 10;

/**
 * Learns of commits by any process from the file system, or at worst from a slow poll, and tells which sessions they touched. Rows of
 * events are never deleted, so what is new has a higher id than all before.
 */
export const openChanges = (
  db: DatabaseSync,
  options: { readonly file: string; readonly fallbackPollMs: number },
  tell: (changes: readonly Change[]) => void,
): Changes => {
  const newest = db.prepare('SELECT max(id) AS id FROM events');
  const since = db.prepare(`SELECT workspace, session, max(seq) AS seq, max(id) AS id FROM events NOT INDEXED
    WHERE id > ? GROUP BY workspace, session`);
  const version = db.prepare('PRAGMA data_version');
  const names = new Set([basename(options.file), `${basename(options.file)}-wal`]);
  let seen = { id: 0, version: 0 };
  let checkedMs = 0;
  let watcher: FSWatcher | undefined;
  let poll: NodeJS.Timeout | undefined;
  let due: NodeJS.Timeout | undefined;

  const versionNow = (): number => Number(version.get()?.data_version);
  const check = (): void => {
    due = undefined;
    checkedMs = performance.now();
    const now = versionNow();
    if (now === seen.version) return;
    const rows = since.all(seen.id) as unknown as (Change & { id: number })[];
    seen = { version: now, id: rows.reduce((id, row) => Math.max(id, row.id), seen.id) };
    if (rows.length > 0) tell(rows.map(({ workspace, session, seq }) => ({ workspace, session, seq })));
  };
  const schedule = (): void => {
    due ??= setTimeout(check, Math.max(0, checkedMs + minIntervalMs - performance.now()));
  };
  return {
    start: () => {
      if (poll) return;
      poll = setInterval(schedule, options.fallbackPollMs);
      try {
        watcher = watch(dirname(options.file), (_, name) => name && names.has(name) && schedule());
        watcher.on('error', () => watcher?.close());
      } catch {
        // No watch to be had (their number is limited): the poll goes on.
      }
      seen = { version: versionNow(), id: Number(newest.get()?.id ?? 0) };
    },
    stop: () => {
      watcher?.close();
      clearInterval(poll);
      clearTimeout(due);
      watcher = poll = due = undefined;
    },
  };
};
