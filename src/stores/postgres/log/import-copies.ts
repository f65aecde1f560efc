import type pg from 'pg';
import type { Imported, SessionCopy, StoredEvent } from '../../../core/ports/store.ts';
import { PerdureError } from '../../../schema/error.ts';
import type { MemberId, SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { type EncodedPayload, payloadEncoding } from '../../codec/payload-codec.ts';
import { newKeysOf, overlapAt, planImport } from '../../log/plan-import.ts';
import { type Change, changeOf, joined } from '../../waking/watchers.ts';
import { type Database, exchange, prepared } from '../server/database.ts';
import { readBases } from './append-bases.ts';
import { insertBlobs } from './blobs.ts';
import { encodePayloads } from './encode-payloads.ts';
import { markImported } from './head-rows.ts';
import { insertKeys } from './keys.ts';
import { recountImport } from './ledger-rows.ts';
import { projectionsOf, writeRareRows } from './projection-rows.ts';
import { writeValues } from './session-values.ts';
import type { WriteLog } from './write-log.ts';

/** Serializes imports of a workspace, so that the second of two equal imports finds what the first one wrote. */
export const waitForOthers = prepared(
  'lock_import',
  `select pg_advisory_xact_lock(hashtextextended('perdure import ' || $1, 0))`,
);

const findHash = prepared(
  'find_hash',
  'select hash from perdure.events where workspace = $1 and session = $2 and seq = $3',
);

const encode = async (events: readonly StoredEvent[]) => {
  const bytes = events.flatMap(({ body }) => (body.kind === 'bytes' ? body.bytes : []));
  const { encoded, blobs } = await encodePayloads(bytes);
  const inOrder = encoded.values();
  const payloadOf = ({ body, session, seq }: StoredEvent): EncodedPayload => {
    if (body.kind === 'bytes') return inOrder.next().value!;
    if (body.kind === 'redacted') return { encoding: payloadEncoding.redacted, stored: body.digest };
    throw new PerdureError('BUNDLE_INVALID', `event ${seq} of ${session} is damaged: ${body.reason}`);
  };
  return { rows: events.map((event) => ({ event, payload: payloadOf(event) })), blobs };
};

/** Returns the number of new events. */
const addCopy = async (
  client: pg.Client,
  writeLog: WriteLog,
  workspace: WorkspaceId,
  copy: SessionCopy,
  owner: MemberId | undefined,
): Promise<number> => {
  const { session, parent: point } = copy;
  const subject = { session, creates: { parent: point } };
  const asked = [subject, ...copy.keys.map((key) => ({ session, key }))];
  const bases = await readBases(client, workspace, undefined, asked, []);
  const { head, parent } = bases.baseOf(subject);
  const common = overlapAt(copy, head);
  const [overlap] = common === undefined ? [] : (await client.query(findHash(workspace, session, common))).rows;
  const plan = planImport(workspace, { head, parent, overlapHash: overlap?.hash }, copy, owner);
  const keys = newKeysOf(copy, (key) => bases.baseOf({ session, key: { key, bodyHash: '' } }).key).map((key) => ({
    ...key,
    session,
  }));
  const { rows, blobs } = await encode(plan.added);
  const { paths, ...rare } = projectionsOf(plan.added.map((event) => ({ ...event, imported: true })));
  const heads = [{ head: plan.head, was: head?.hash }];
  await exchange(client, [
    ...(rows.length > 0
      ? [
          writeLog(workspace, { heads, events: rows, paths, fresh: true, imported: true }),
          markImported(plan.head, plan.added[0]!.seq, plan.head.seq),
          ...writeValues(workspace, [{ head: plan.head, before: head }]).statements,
        ]
      : []),
    keys.length > 0 ? insertKeys(workspace, keys) : undefined,
    blobs.length > 0 ? insertBlobs(workspace, blobs) : undefined,
    ...writeRareRows(workspace, rare),
  ]);
  return plan.added.length;
};

/**
 * Imports in one transaction, piece by piece. Any error, in the import or in the source of the copies, rolls back
 * everything.
 */
export const importCopies = async (
  database: Database,
  writeLog: WriteLog,
  workspace: WorkspaceId,
  copies: AsyncIterable<SessionCopy>,
  owner?: MemberId,
): Promise<{ readonly imported: Imported; readonly changes: readonly Change[] }> =>
  database.feed(workspace, [waitForOthers(workspace)], async (client) => {
    const added = new Map<SessionId, number>();
    const changes = new Map<SessionId, Change>();
    for await (const copy of copies) {
      const { session, events } = copy;
      added.set(session, (added.get(session) ?? 0) + (await addCopy(client, writeLog, workspace, copy, owner)));
      const change = changeOf({ workspace, session, seq: events.at(-1)?.seq ?? 0 }, events);
      changes.set(session, joined(changes.get(session), change));
    }
    await recountImport(client, workspace, owner);
    const sessions = [...added].map(([session, count]) => ({ session, added: count }));
    return { imported: { sessions }, changes: [...changes.values()] };
  });
