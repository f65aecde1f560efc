import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { readEvents } from '../engine/events.ts';
import type { FollowAccess, LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { type CommitRecord, commitRecord, meetsAll } from '../session/state/commit-record.ts';
import { WatchFilter } from './record-filter.ts';

async function* commitsAfter(
  scope: FollowAccess,
  key: SessionKey,
  start: Promise<number>,
  { signal, ...conditions }: WatchFilter,
): AsyncGenerator<CommitRecord, void, void> {
  for await (const event of readEvents(scope, key, { after: await start, follow: true, signal })) {
    if (event.type !== 'state.committed') continue;
    const record = commitRecord(event);
    if (meetsAll(record, conditions)) yield record;
  }
}

/**
 * Returns the seq to start after. Waits for the decisions in progress on the session, so that every later decision of
 * this process is after the start.
 */
const fromNow = (scope: LogAccess, key: SessionKey): Promise<number> =>
  scope.folds.inTurn(key, async () => (await scope.folds.head(key)).seq);

/**
 * Yields every matching commit when it is appended. The watch starts at this call, not at the first step of the
 * iteration.
 */
export const watchCommits = (
  scope: FollowAccess,
  key: SessionKey,
  filter: WatchFilter = {},
): AsyncGenerator<CommitRecord, void, void> => {
  const asked = parseInput('the filter', WatchFilter, filter);
  const start = asked.after === undefined ? fromNow(scope, key) : Promise.resolve(asked.after);
  start.catch(() => undefined); // The first step reports the failure, if it is ever taken.
  return abortableGenerator(asked.signal, (signal) => commitsAfter(scope, key, start, { ...asked, signal }));
};
