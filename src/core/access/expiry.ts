import type { WorkspaceId } from '../../schema/ids.ts';
import type { KeyInfo } from '../../schema/key-info.ts';
import { writeOf } from '../engine/change-records.ts';
import type { Clock } from '../ports/clock.ts';
import type { Records, StoredRecord } from '../ports/records.ts';

interface RecordedKeys {
  readonly records: Records;
  readonly workspace: WorkspaceId;
  readonly clock: Clock;
}

/**
 * Whether the key has expired. The first time, stores that, so that no process accepts the key again after its clock
 * went back, not even by the time for which a steady clock may be behind.
 */
export const hasExpired = async (
  { records, workspace, clock }: RecordedKeys,
  { kind, version, dueAt }: StoredRecord,
  key: KeyInfo,
): Promise<boolean> => {
  if (key.expiredAt !== undefined) return true;
  const now = clock.now();
  if (key.expiresAt === undefined || key.expiresAt > now) return false;
  const write = { ...writeOf(kind, { ...key, expiredAt: now }, version), dueAt };
  // A key that cannot be marked is rejected all the same, and a lost race leaves it to the next rejection.
  await records.writeRecords(workspace, [write]).catch(() => false);
  return true;
};
