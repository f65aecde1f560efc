/**
 * A process that updates pairs of records, each based on the previous version, until it is killed. Argument: the
 * store's address.
 */
import '../support/end-with-parent.ts';
import { WorkspaceId } from '../../src/schema/ids.ts';
import { openStoreAt } from '../support/stores/open-store.ts';

const store = await openStoreAt(process.argv[2]!);
const workspace = WorkspaceId.parse('local');
const ids = ['a', 'b'];
for (let count = 0; ; ) {
  const now = await Promise.all(ids.map((id) => store.record(workspace, 'member', id)));
  count = Math.max(count, ...now.map((record) => Number(record?.body ?? 0))) + 1;
  const writes = ids.map(
    (id, place) => ({ kind: 'member', id, onVersion: now[place]?.version ?? 0, body: count }) as const,
  );
  if (!(await store.writeRecords(workspace, writes)))
    throw new Error('the record write conflicted with another writer; only this process should write');
  process.send!(count);
}
