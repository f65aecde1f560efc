import type pg from 'pg';
import type { Appended, AppendOutcome, AppendRequest } from '../../core/ports/store.ts';
import { isPerdureError, type PerdureError } from '../../schema/error.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { EncodedBlob, EncodedPayload } from '../payload-codec.ts';
import { planAppend } from '../plan-append.ts';
import type { Seal } from '../seal-payload.ts';
import { type AppendBases, readBases } from './append-bases.ts';
import { insertBlobs } from './blobs.ts';
import { exchange, type Statement } from './database.ts';
import { insertEvents } from './event-rows.ts';
import { insertSessions, updateSessions } from './head-rows.ts';
import { insertKeys } from './keys.ts';
import { insertProjections } from './projection-rows.ts';

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

const writes = (workspace: WorkspaceId, bases: AppendBases, planned: readonly Planned[]): (Statement | undefined)[] => {
  const heads = [...new Map(planned.map(({ outcome: { head } }) => [head.session, head])).values()];
  const { created = [], moved = [] } = Object.groupBy(heads, ({ session }) =>
    bases.isNew(session) ? 'created' : 'moved',
  );
  const keys = planned.flatMap(({ pending: { request }, outcome: { events } }) =>
    request.key ? [{ ...request.key, session: request.session, seq: events[0]!.seq, count: events.length }] : [],
  );
  const blobs = planned.flatMap(({ pending }) => pending.blobs);
  const rows = planned.flatMap(({ pending, outcome }) =>
    outcome.events.map((event, place) => ({ event, payload: pending.payloads[place]! })),
  );
  return [
    insertEvents(workspace, rows),
    created.length > 0 ? insertSessions(workspace, created) : undefined,
    moved.length > 0 ? updateSessions(workspace, moved) : undefined,
    keys.length > 0 ? insertKeys(workspace, keys) : undefined,
    blobs.length > 0 ? insertBlobs(workspace, blobs) : undefined,
    ...insertProjections(
      workspace,
      planned.flatMap(({ outcome }) => outcome.events),
    ),
  ];
};

/** One transaction in two round trips. Throws what the engine says; then nothing of the batch is known to have landed. */
export const appendBatch = async (
  client: pg.Client,
  workspace: WorkspaceId,
  opening: Statement,
  batch: readonly PendingAppend[],
): Promise<readonly AppendResult[]> => {
  const bases = await readBases(
    client,
    workspace,
    opening,
    batch.map(({ request }) => request),
    batch.flatMap(({ attempts }) => attempts),
  );
  const { planned, results } = planBatch(bases, batch);
  if (planned.length === 0) {
    await exchange(client, ['rollback']);
    return results;
  }
  for (const { pending, outcome } of planned) pending.attempts.push(outcome);
  const answers = await exchange(client, [...writes(workspace, bases, planned), 'commit']);
  if (answers.at(-1)!.command !== 'COMMIT') throw new Error('PostgreSQL rolled back a transaction without an error');
  return results;
};
