import type pg from 'pg';
import { type Appended, type AppendOutcome, type AppendRequest, sessionKeyName } from '../../../core/ports/store.ts';
import { isPerdureError, type PerdureError } from '../../../schema/error.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import type { EncodedBlob, EncodedPayload } from '../../codec/payload-codec.ts';
import type { Seal } from '../../codec/seal-payload.ts';
import { LedgerState } from '../../log/check-quotas.ts';
import type { PlacedHead } from '../../log/listing-key.ts';
import { type Metered, meterAppend, sumChanges } from '../../log/meter.ts';
import { planAppend } from '../../log/plan-append.ts';
import { exchange, refuseRollback, type Statement } from '../server/database.ts';
import { isConnectionLost, isOutdated, isReadOnly } from '../server/store-error.ts';
import { AppendBases, readBases } from './append-bases.ts';
import { insertBlobs } from './blobs.ts';
import { insertKeys } from './keys.ts';
import { enterLedger, lockLedger } from './ledger-rows.ts';
import { projectionsOf, writeRareRows } from './projection-rows.ts';
import { writeValues } from './session-values.ts';
import type { WriteLog } from './write-log.ts';

/** An append with everything that does not depend on the head, prepared before its transaction begins. */
export interface PendingAppend {
  readonly request: AppendRequest;
  readonly seals: readonly Seal[];
  readonly payloads: readonly EncodedPayload[];
  readonly blobs: readonly EncodedBlob[];
  /** Commits that were sent without a definite answer. The next try checks whether one of them landed. */
  readonly attempts: Appended[];
}

/** The outcome of one request, or the error that rejects only this request. */
export type AppendResult = AppendOutcome | PerdureError;

interface Planned {
  readonly pending: PendingAppend;
  readonly outcome: Appended;
  readonly metered: Metered | undefined;
}

/** Plans in order: each request sees the effects of the earlier ones. Without a `ledger`, checks no quotas. */
const planBatch = (bases: AppendBases, batch: readonly PendingAppend[], ledger?: LedgerState) => {
  const planned: Planned[] = [];
  const results = batch.map((pending): AppendResult => {
    const landed = bases.landed(pending.attempts);
    if (landed) return landed;
    try {
      const base = bases.baseOf(pending.request);
      const outcome = planAppend(base, pending.request, pending.seals);
      if (outcome.outcome !== 'appended') return outcome;
      const metered = meterAppend(base.head, pending.request, outcome);
      const refusal = metered && ledger?.enter(metered);
      if (refusal) return { outcome: 'quota', refusal };
      bases.advance(pending.request, outcome);
      planned.push({ pending, outcome, metered });
      return outcome;
    } catch (error) {
      if (isPerdureError(error)) return error;
      throw error;
    }
  });
  return { planned, results };
};

interface CommitOptions {
  /** Whether the heads were read in this transaction, and are not from the cache. */
  readonly fresh: boolean;
  /** Whether the quotas were checked in this transaction. */
  readonly checked: boolean;
}

/** The statement that enters the batch into the ledger. Most batches concern no quota. */
const ledgerOf = (workspace: WorkspaceId, planned: readonly Planned[], checked: boolean): readonly Statement[] => {
  const metered = planned.flatMap((each) => each.metered ?? []);
  if (metered.length === 0) return [];
  const needsCheck = !checked && metered.some(({ checks }) => checks.length > 0);
  return [enterLedger(workspace, sumChanges(metered), needsCheck)];
};

interface Writes {
  readonly statements: readonly Statement[];
  /** The heads of the sessions after the batch. */
  readonly heads: readonly PlacedHead[];
}

/**
 * One statement writes heads, events and commit paths. Keys, blobs, calls, charges and the values of listings are rarer
 * and follow.
 */
const writes = (
  { workspace, writeLog }: BatchConnection,
  bases: AppendBases,
  planned: readonly Planned[],
  { fresh, checked }: CommitOptions,
): Writes => {
  const heads = new Map(planned.map(({ outcome: { head } }) => [head.session, head]));
  const next = [...heads.values()].map((head) => ({ head, was: bases.before(head.session)?.hash }));
  const events = planned.flatMap(({ pending, outcome }) =>
    outcome.events.map((event, place) => ({ event, payload: pending.payloads[place]! })),
  );
  const keys = planned.flatMap(({ pending: { request }, outcome: { events } }) =>
    request.key ? [{ ...request.key, session: request.session, seq: events[0]!.seq, count: events.length }] : [],
  );
  const blobs = planned.flatMap(({ pending }) => pending.blobs);
  const { paths, ...rare } = projectionsOf(events.map(({ event }) => event));
  const listed = [...heads.values()].map((head) => ({ head, before: bases.before(head.session) }));
  const { statements, places } = writeValues(workspace, listed);
  return {
    heads: [...heads.values()].map((head) => ({ ...head, listing: places.get(head.session) })),
    statements: [
      writeLog(workspace, { heads: next, events, paths, fresh }),
      ...(keys.length > 0 ? [insertKeys(workspace, keys)] : []),
      ...(blobs.length > 0 ? [insertBlobs(workspace, blobs)] : []),
      ...writeRareRows(workspace, rare),
      ...ledgerOf(workspace, planned, checked),
      ...statements,
    ],
  };
};

export interface BatchConnection {
  readonly client: pg.Client;
  readonly workspace: WorkspaceId;
  readonly opening: Statement;
  readonly writeLog: WriteLog;
  /** Heads as this process last saw them. */
  readonly known: Map<string, PlacedHead>;
  /** Workspaces that had quotas when they were last read. A hint, which saves a try without them. */
  readonly limited: Set<WorkspaceId>;
}

/** A lone statement that writes the log needs no explicit transaction. */
const send = async (
  client: pg.Client,
  opening: Statement | undefined,
  statements: readonly Statement[],
): Promise<void> => {
  if (opening && statements.length === 1) {
    await client.query(statements[0]!);
    return;
  }
  refuseRollback(await exchange(client, [opening, ...statements, 'commit']));
};

/**
 * Commits the planned appends. With an `opening`, they run in their own transaction. Otherwise they complete the
 * transaction that read the bases. After an error nothing has landed, unless the connection was lost.
 */
const commit = async (
  connection: BatchConnection,
  opening: Statement | undefined,
  bases: AppendBases,
  planned: readonly Planned[],
  checked = false,
): Promise<void> => {
  const { client, known } = connection;
  for (const { pending, outcome } of planned) pending.attempts.push(outcome);
  const { statements, heads } = writes(connection, bases, planned, { fresh: opening === undefined, checked });
  try {
    await send(client, opening, statements);
  } catch (error) {
    for (const { pending } of planned) {
      known.delete(sessionKeyName(pending.request));
      if (!isConnectionLost(error) || isReadOnly(error)) pending.attempts.pop();
    }
    throw error;
  }
  for (const head of heads) known.set(sessionKeyName(head), head);
};

/**
 * Appends in one round trip if all heads are cached and nothing needs a lookup. The database rejects a moved head, a
 * taken id or a taken key. Returns undefined if the caller must read the heads first. That includes every outcome but
 * `appended`, because such an outcome would rely on cached heads.
 */
const appendKnown = async (
  connection: BatchConnection,
  batch: readonly PendingAppend[],
): Promise<readonly AppendResult[] | undefined> => {
  const { workspace, opening, known, limited } = connection;
  const heads = new Map<SessionId, () => PlacedHead>();
  for (const { request, attempts } of batch) {
    const head = known.get(sessionKeyName(request));
    if (attempts.length > 0 || request.creates?.parent || (!head && !request.creates)) return undefined;
    if (head) heads.set(request.session, () => head);
  }
  const bases = new AppendBases(workspace, heads);
  const { planned, results } = planBatch(bases, batch);
  if (planned.length < batch.length) return undefined;
  if (limited.has(workspace) && planned.some(({ metered }) => metered && metered.checks.length > 0)) return undefined;
  try {
    await commit(connection, opening, bases, planned);
    return results;
  } catch (error) {
    if (isOutdated(error)) return undefined;
    throw error;
  }
};

/**
 * Plans the batch on what the transaction has read. If the workspace has quotas, plans twice: once to find the rows of
 * the ledger that it needs, and again with these rows locked.
 */
const planRead = async (
  { client, workspace, limited }: BatchConnection,
  bases: AppendBases,
  batch: readonly PendingAppend[],
) => {
  if (bases.quotas.size === 0) {
    limited.delete(workspace);
    return { ...planBatch(bases, batch), checked: false };
  }
  limited.add(workspace);
  const draft = planBatch(bases.again(), batch);
  const keys = draft.planned.flatMap(({ metered }) => (metered ? [...metered.checks, ...metered.changes] : []));
  const rows = keys.length > 0 ? await lockLedger(client, workspace, keys) : new Map();
  return { ...planBatch(bases, batch, new LedgerState(bases.quotas, rows)), checked: true };
};

/** Appends the batch in one transaction, with one to three round trips. Throws engine errors unchanged. */
export const appendBatch = async (
  connection: BatchConnection,
  batch: readonly PendingAppend[],
): Promise<readonly AppendResult[]> => {
  const quick = await appendKnown(connection, batch);
  if (quick) return quick;
  const { client, workspace, opening } = connection;
  const bases = await readBases(
    client,
    workspace,
    opening,
    batch.map(({ request }) => request),
    batch.flatMap(({ attempts }) => attempts),
  );
  const { planned, results, checked } = await planRead(connection, bases, batch);
  if (planned.length > 0) await commit(connection, undefined, bases, planned, checked);
  else await exchange(client, ['rollback']);
  return results;
};
