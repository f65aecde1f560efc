import type { AuditEntry } from '../../schema/audit-entry.ts';
import { PerdureError } from '../../schema/error.ts';
import { type MemberId, newId } from '../../schema/ids.ts';
import { writeOf } from '../engine/change-records.ts';
import type { Regression, SeenEvent } from '../engine/seen-heads.ts';
import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';

const hashChars = 12;
const nameOf = (event: SeenEvent | undefined): string =>
  event ? `event ${event.seq} (${event.hash.slice(0, hashChars)})` : 'no session';

/** The warning for a store that lost events. */
export const storeWentBack = ({ key, seen, found }: Regression): PerdureError =>
  new PerdureError(
    'STORE_WENT_BACK',
    `the store lost events of ${key.session}: it had ${nameOf(seen)}, and now ends with ${nameOf(found)}; workers that held it are fenced: check which calls with effects ran, and see "After a failover or a restore" in docs/guides/back-up.md`,
    { details: { ...key, seen: { ...seen }, found: found ? { ...found } : null } },
  );

/** Records a loss in the audit log of the workspace, as an act of the program itself. */
export const recordRegression = async (
  { records, clock }: { readonly records: Records; readonly clock: Clock },
  { key, seen, found }: Regression,
): Promise<void> => {
  const entry: AuditEntry = {
    id: newId('aud'),
    at: clock.now(),
    member: 'local' as MemberId,
    verb: 'store.wentBack',
    target: `${key.session}: ${nameOf(seen)} is gone, ends with ${nameOf(found)}`,
    outcome: 'done',
  };
  await records.writeRecords(key.workspace, [writeOf('audit', entry, 0)]);
};
