import type { DatabaseSync } from 'node:sqlite';
import type { SessionCopy, StoredEvent } from '../../../core/ports/store.ts';
import { PerdureError } from '../../../schema/error.ts';
import type { MemberId, WorkspaceId } from '../../../schema/ids.ts';
import { type EncodedPayload, encodeBlobSync, encodePayload } from '../../codec/payload-codec.ts';
import { newKeysOf, overlapAt, planImport } from '../../log/plan-import.ts';
import { redactedPayload } from './event-rows.ts';
import { readForkPoint } from './fork-point.ts';
import type { Tables } from './tables.ts';

export interface CopyImport {
  begin(): void;
  /** Returns the number of new events. */
  add(workspace: WorkspaceId, copy: SessionCopy, owner?: MemberId): number;
  commit(): void;
  /** Safe to call after the engine itself has rolled back. */
  cancel(): void;
}

const encode = ({ session, seq, body }: StoredEvent): EncodedPayload => {
  if (body.kind === 'bytes') return encodePayload(body.bytes);
  if (body.kind === 'redacted') return redactedPayload(body.digest);
  throw new PerdureError('BUNDLE_INVALID', `event ${seq} of ${session} is damaged: ${body.reason}`);
};

const addCopy = (tables: Tables, workspace: WorkspaceId, copy: SessionCopy, owner?: MemberId): number => {
  const key = { workspace, session: copy.session };
  const head = tables.heads.read(key);
  const common = overlapAt(copy, head);
  const base = {
    head,
    overlapHash: common === undefined ? undefined : tables.events.mark(key, common)?.hash,
    parent: head ? undefined : readForkPoint(tables, workspace, copy.parent),
  };
  const plan = planImport(workspace, base, copy, owner);
  for (const event of plan.added) {
    const payload = encode(event);
    if (payload.blob) tables.blobs.write(workspace, encodeBlobSync(payload.blob));
    tables.events.insert(workspace, event, payload);
    tables.projections.add(workspace, { ...event, imported: true }, plan.head.root);
  }
  if (plan.added.length > 0) {
    tables.heads.write(plan.head);
    tables.sessions.markImported(key, plan.added[0]!.seq, plan.head.seq);
  }
  for (const each of newKeysOf(copy, (name) => tables.keys.one(key, name))) tables.keys.insert(key, each);
  return plan.added.length;
};

/** One transaction stays open from piece to piece; the writer thread does nothing else meanwhile. */
export const openCopyImport = (db: DatabaseSync, tables: Tables): CopyImport => {
  let into: { readonly workspace: WorkspaceId; readonly owner: MemberId | undefined } | undefined;
  return {
    begin: () => {
      into = undefined;
      db.exec('BEGIN IMMEDIATE');
      tables.admission.check();
      tables.heads.refresh();
    },
    add: (workspace, copy, owner) => {
      if (!db.isTransaction) throw new Error('importAdd was called without importBegin');
      into = { workspace, owner };
      return addCopy(tables, workspace, copy, owner);
    },
    commit: () => {
      if (into) tables.ledger.recountImport(into.workspace, into.owner);
      tables.files.check();
      db.exec('COMMIT');
    },
    cancel: () => {
      tables.heads.forget();
      if (db.isTransaction) db.exec('ROLLBACK');
    },
  };
};
