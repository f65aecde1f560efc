import type pg from 'pg';
import {
  type Appended,
  type AppendOutcome,
  type AppendRequest,
  type Head,
  sessionKeyName,
} from '../../../core/ports/store.ts';
import { isPerdureError, type PerdureError } from '../../../schema/error.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import type { EncodedBlob, EncodedPayload } from '../../codec/payload-codec.ts';
import type { Seal } from '../../codec/seal-payload.ts';
import { planAppend } from '../../log/plan-append.ts';
import { exchange, refuseRollback, type Statement } from '../server/database.ts';
import { isConnectionLost, isOutdated, isReadOnly } from '../server/store-error.ts';
import { AppendBases, readBases } from './append-bases.ts';
import { insertBlobs } from './blobs.ts';
import { insertKeys } from './keys.ts';
import { projectionsOf, writeCalls } from './projection-rows.ts';
import type { WriteLog } from './write-log.ts';

/** An append with all that does not depend on the head, made before its transaction begins. */
export interface PendingAppend {
  readonly request: AppendRequest;
  readonly seals: readonly Seal[];
  readonly payloads: readonly EncodedPayload[];
  readonly blobs: readonly EncodedBlob[];
  /** Sent for commit without a good answer: the next try looks whether one of them landed. */
  readonly attempts: Appended[];
}

/** One request's answer, or why it alone was refused. */
export type AppendResult = AppendOutcome | PerdureError;

interface Planned {
  readonly pending: PendingAppend;
  readonly outcome: Appended;
}

/** In order: each request sees what those before it did. */
const planBatch = (bases: AppendBases, batch: readonly PendingAppend[]) => {
  const planned: Planned[] = [];
  const results = batch.map((pending): AppendResult => {
    const landed = bases.landed(pending.attempts);
    if (landed) return landed;
    try {
      const outcome = planAppend(bases.baseOf(pending.request), pending.request, pending.seals);
      if (outcome.outcome !== 'appended') return outcome;
      bases.advance(pending.request, outcome);
      planned.push({ pending, outcome });
      return outcome;
    } catch (error) {
      if (isPerdureError(error)) return error;
      throw error;
    }
  });
  return { planned, results };
};

/** Heads, events and paths of commits first; keys, blobs and calls are rarer. */
const writes = (
  { workspace, writeLog }: BatchConnection,
  bases: AppendBases,
  planned: readonly Planned[],
  fresh: boolean,
): readonly Statement[] => {
  const heads = new Map(planned.map(({ outcome: { head } }) => [head.session, head]));
  const next = [...heads.values()].map((head) => ({ head, was: bases.before(head.session)?.hash }));
  const events = planned.flatMap(({ pending, outcome }) =>
    outcome.events.map((event, place) => ({ event, payload: pending.payloads[place]! })),
  );
  const keys = planned.flatMap(({ pending: { request }, outcome: { events } }) =>
    request.key ? [{ ...request.key, session: request.session, seq: events[0]!.seq, count: events.length }] : [],
  );
  const blobs = planned.flatMap(({ pending }) => pending.blobs);
  const { paths, calls } = projectionsOf(events.map(({ event }) => event));
  return [
    writeLog(workspace, { heads: next, events, paths, fresh }),
    ...(keys.length > 0 ? [insertKeys(workspace, keys)] : []),
    ...(blobs.length > 0 ? [insertBlobs(workspace, blobs)] : []),
    ...writeCalls(workspace, calls),
  ];
};

export interface BatchConnection {
  readonly client: pg.Client;
  readonly workspace: WorkspaceId;
  readonly opening: Statement;
  readonly writeLog: WriteLog;
  /** Heads as this process last saw them. */
  readonly known: Map<string, Head>;
}

/** The statement that writes the log is a transaction by itself when it comes alone. */
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
 * Commits what was planned: with an opening in a transaction of its own, without one in that which has read the bases. After an error
 * nothing of it has landed, unless the connection went away.
 */
const commit = async (
  connection: BatchConnection,
  opening: Statement | undefined,
  bases: AppendBases,
  planned: readonly Planned[],
): Promise<void> => {
  const { client, known } = connection;
  for (const { pending, outcome } of planned) pending.attempts.push(outcome);
  try {
    await send(client, opening, writes(connection, bases, planned, opening === undefined));
  } catch (error) {
    for (const { pending } of planned) {
      known.delete(sessionKeyName(pending.request));
      if (!isConnectionLost(error) || isReadOnly(error)) pending.attempts.pop();
    }
    throw error;
  }
  for (const { outcome } of planned) known.set(sessionKeyName(outcome.head), outcome.head);
};

/**
 * One round trip when all heads are known from earlier appends and nothing has to be looked up. The database has the last word: a head
 * that moved, an id or a key that is taken makes it refuse, and undefined asks for the longer way. So does any other answer than
 * `appended`, since it would rest on what this process remembers.
 */
const appendKnown = async (
  connection: BatchConnection,
  batch: readonly PendingAppend[],
): Promise<readonly AppendResult[] | undefined> => {
  const { workspace, opening, known } = connection;
  const heads = new Map<SessionId, () => Head>();
  for (const { request, attempts } of batch) {
    const head = known.get(sessionKeyName(request));
    if (attempts.length > 0 || request.creates?.parent || (!head && !request.creates)) return undefined;
    if (head) heads.set(request.session, () => head);
  }
  const bases = new AppendBases(workspace, heads);
  const { planned, results } = planBatch(bases, batch);
  if (planned.length < batch.length) return undefined;
  try {
    await commit(connection, opening, bases, planned);
    return results;
  } catch (error) {
    if (isOutdated(error)) return undefined;
    throw error;
  }
};

/** One transaction, in one round trip or two. Throws what the engine says. */
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
  const { planned, results } = planBatch(bases, batch);
  if (planned.length > 0) await commit(connection, undefined, bases, planned);
  else await exchange(client, ['rollback']);
  return results;
};
