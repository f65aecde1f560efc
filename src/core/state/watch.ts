import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { readEvents } from '../engine/events.ts';
import type { FollowAccess, LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { type CommitRecord, commitRecord, isMatch } from '../session/state/commit-record.ts';
import { many, WatchFilter } from './record-filter.ts';

async function* commitsAfter(
  scope: FollowAccess,
  key: SessionKey,
  start: Promise<number>,
  { path, provenance, signal }: WatchFilter,
): AsyncGenerator<CommitRecord, void, void> {
  const levels = many(provenance);
  for await (const event of readEvents(scope, key, { after: await start, follow: true, signal })) {
    if (event.type !== 'state.committed') continue;
    const record = commitRecord(event);
    if (isMatch(record, path, levels)) yield record;
  }
}

/** In turn with the decisions about the session: none that is made here after this call is before its start. */
const fromNow = (scope: LogAccess, key: SessionKey): Promise<number> =>
  scope.folds.inTurn(key, async () => (await scope.folds.head(key)).seq);

/** Every commit that matches, as it comes. Where it starts is settled by the call, not by the first step. */
export const watchCommits = (
  scope: FollowAccess,
  key: SessionKey,
  filter: WatchFilter = {},
): AsyncGenerator<CommitRecord, void, void> => {
  const asked = parseInput('the filter', WatchFilter, filter);
  const start = asked.after === undefined ? fromNow(scope, key) : Promise.resolve(asked.after);
  start.catch(() => undefined); // told by the first step, if there is one
  return abortableGenerator(asked.signal, (signal) => commitsAfter(scope, key, start, { ...asked, signal }));
};
