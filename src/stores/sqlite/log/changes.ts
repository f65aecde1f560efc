import { type FSWatcher, realpathSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { callsForWork } from '../../../core/ports/queue.ts';
import { timerMs } from '../../../schema/timer-limit.ts';
import type { Change } from '../../waking/watchers.ts';

export interface Changes {
  start(): void;
  stop(): void;
}

type Row = Omit<Change, 'work'> & { readonly id: number; readonly work: number };

const lastId = (rows: readonly Row[], before: number): number => rows.reduce((id, row) => Math.max(id, row.id), before);

/** Limits wake-ups, because a busy writer touches the file far more often than followers need. */
const minIntervalMs = 10;
/**
 * A commit changes the file before it syncs, and nothing changes afterwards. So for this long after each change we
 * check again: for `oftenForMs` in short intervals, then in growing ones. Polling covers longer syncs.
 */
const lookAgainForMs = 20_000;
const oftenForMs = 250;
const maxIntervalMs = 500;

const workTypes = [...callsForWork].map((type) => `'${type}'`).join(', ');

/**
 * Detects the commits of all processes through file system events, or at worst through slow polling, and reports the
 * changed sessions. Event rows are never deleted, so new rows have the highest ids. Work that was released or found
 * again also gets a higher id.
 */
export const openChanges = (
  db: DatabaseSync,
  options: { readonly file: string; readonly fallbackPollMs: number },
  tell: (changes: readonly Change[]) => void,
): Changes => {
  const newest = db.prepare('SELECT (SELECT max(id) FROM events) AS event, (SELECT max(id) FROM work) AS work');
  const since =
    db.prepare(`SELECT workspace, session, max(seq) AS seq, max(at) AS at, max(id) AS id, max(type IN (${workTypes})) AS work
    FROM events NOT INDEXED WHERE id > ? GROUP BY workspace, session`);
  const workSince = db.prepare('SELECT workspace, session, seq, id, ready AS work FROM work WHERE id > ?');
  const version = db.prepare('PRAGMA data_version');
  let seen = { event: 0, work: 0, version: 0 };
  let foundMs = 0;
  let lookUntilMs = 0;
  let lookAgainMs = 1;
  let watcher: FSWatcher | undefined;
  let poll: NodeJS.Timeout | undefined;
  let due: NodeJS.Timeout | undefined;

  const newestIds = (): { readonly event: number; readonly work: number } => {
    const { event, work } = newest.get() ?? {};
    return { event: Number(event ?? 0), work: Number(work ?? 0) };
  };
  const versionNow = (): number => Number(version.get()?.data_version);
  const reportNew = (): void => {
    const now = versionNow();
    if (now === seen.version) return;
    foundMs = performance.now();
    // The file was restored in place to an earlier state. It reuses ids, so all rows are treated as new.
    if (newestIds().event < seen.event) seen = { ...seen, event: 0, work: 0 };
    const events = since.all(seen.event) as unknown as readonly Row[];
    const work = workSince.all(seen.work) as unknown as readonly Row[];
    seen = { version: now, event: lastId(events, seen.event), work: lastId(work, seen.work) };
    const rows = [...events, ...work];
    if (rows.length > 0) tell(rows.map(({ id, ...change }) => ({ ...change, work: Boolean(change.work) })));
  };
  const find = (): void => {
    try {
      reportNew();
    } catch {
      // The file is busy or damaged at the moment. Its readers report that, and we check again later.
    }
  };
  const look = (): void => {
    due = undefined;
    find();
    const now = performance.now();
    if (now > lookUntilMs) return;
    due = setTimeout(look, Math.max(lookAgainMs, foundMs + minIntervalMs - now));
    const isOften = now < lookUntilMs - lookAgainForMs + oftenForMs;
    lookAgainMs = Math.min(2 * lookAgainMs, isOften ? minIntervalMs : maxIntervalMs);
  };
  const touched = (): void => {
    const now = performance.now();
    lookUntilMs = now + lookAgainForMs;
    if (due && lookAgainMs <= minIntervalMs) return;
    clearTimeout(due);
    lookAgainMs = 1;
    due = setTimeout(look, Math.max(0, foundMs + minIntervalMs - now));
  };
  const watchFile = (): FSWatcher => {
    const file = realpathSync(options.file);
    const names = [basename(file), `${basename(file)}-wal`];
    const found = watch(dirname(file), (_, name) => {
      if (name && names.includes(name)) touched();
    });
    return found.on('error', () => found.close());
  };
  return {
    start: () => {
      if (poll) return;
      poll = setInterval(find, timerMs(options.fallbackPollMs));
      try {
        watcher = watchFile();
      } catch {
        // No file watch available (their number is limited), so only polling is left.
      }
      seen = { version: versionNow(), ...newestIds() };
    },
    stop: () => {
      watcher?.close();
      clearInterval(poll);
      clearTimeout(due);
      watcher = poll = due = undefined;
    },
  };
};
