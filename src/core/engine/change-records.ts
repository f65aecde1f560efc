import { backoffMs } from '../../concurrency/backoff.ts';
import { PerdureError } from '../../schema/error.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { RecordKind } from '../../schema/record-kind.ts';
import type { Records, RecordWrite, StoredRecord } from '../ports/records.ts';
import type { RecordAccess } from './scope.ts';

const pageSize = 500;
const maxTries = 50;
const backoff = { firstMs: 1, maxMs: 50 };

/** Returns the write of a record under its own id. */
export const writeOf = <Body extends { readonly id: string }>(
  kind: RecordKind,
  body: Body,
  onVersion: number,
): RecordWrite => ({
  kind,
  id: body.id,
  onVersion,
  body: JSON.parse(JSON.stringify(body)),
});

/** Returns all records of a kind, sorted by id. */
export const allRecords = async (
  records: Records,
  workspace: WorkspaceId,
  kind: RecordKind,
): Promise<readonly StoredRecord[]> => {
  const all: StoredRecord[] = [];
  for (let page: readonly StoredRecord[] | undefined; !page || page.length === pageSize; ) {
    page = await records.records(workspace, kind, { limit: pageSize, after: all.at(-1)?.id });
    all.push(...page);
  }
  return all;
};

export type ChangeAccess = Pick<RecordAccess, 'records' | 'workspace' | 'clock' | 'random'>;

/**
 * Decides which records to write, and writes them. If another writer changed the same records, retries with jitter.
 */
export const changeRecords = async <T>(
  { records, workspace, clock, random }: ChangeAccess,
  decide: () => Promise<{ readonly writes: readonly RecordWrite[]; readonly result: T }>,
): Promise<T> => {
  for (let tries = 0; tries < maxTries; tries++) {
    const { writes, result } = await decide();
    if (await records.writeRecords(workspace, writes)) return result;
    await clock.sleep(backoffMs(tries + 1, backoff, random.number));
  }
  throw new PerdureError('CONFLICT', `gave up after ${maxTries} conflicting writes: try again later`);
};
