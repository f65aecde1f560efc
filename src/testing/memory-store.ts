import { maxNoteBytes } from '../core/ports/notes.ts';
import type { RuntimeStore } from '../core/ports/runtime-store.ts';
import type {
  AppendOutcome,
  AppendRequest,
  FoldSnapshot,
  Imported,
  ReadRange,
  SessionCopy,
  SessionKey,
  StoredEvent,
} from '../core/ports/store.ts';
import { quotaError } from '../core/session/quota-refusal.ts';
import { valuesOf } from '../core/session/session-values.ts';
import { PerdureError } from '../schema/error.ts';
import type { MemberId, SessionId, WorkspaceId } from '../schema/ids.ts';
import { encodeBlobsSync } from '../stores/codec/payload-codec.ts';
import { inFamilyOrder } from '../stores/log/family-order.ts';
import { clipSegments, segmentsToRead } from '../stores/log/lineage.ts';
import { meterAppend } from '../stores/log/meter.ts';
import { planAppend } from '../stores/log/plan-append.ts';
import { newKeysOf, overlapAt, planImport } from '../stores/log/plan-import.ts';
import { concernsWork } from '../stores/queue/work-entry.ts';
import { looseBlobsIn, putBlob, putCountedBlobs, removeBlob, touch } from './memory-blobs.ts';
import { groupChargesIn, sumChargesIn } from './memory-charges.ts';
import {
  copyBytes,
  copyEvent,
  copyWorkspace,
  eventAt,
  eventOf,
  headOf,
  isSpilled,
  type MemoryDatabase,
  type MemorySession,
  type MemoryWorkspace,
  newMemoryDatabase,
  putPiece,
  seenIn,
  segmentsIn,
  workspaceOf,
} from './memory-database.ts';
import { enterLedger, importRefusalIn, ledgerIn, recountIn } from './memory-ledger.ts';
import { listSessionsIn } from './memory-listing.ts';
import {
  findBlobEventsIn,
  findCallsIn,
  findCommitsIn,
  findRepeatedIn,
  keepProjections,
  rebuildIn,
} from './memory-projections.ts';
import {
  claimIn,
  enterWork,
  findWorkIn,
  finishIn,
  freeIn,
  leaveIn,
  releaseIn,
  touchIn,
  workersIn,
} from './memory-queue.ts';
import { findRecordIn, listRecordsIn, writeRecordsIn } from './memory-records.ts';

const keep = (workspace: MemoryWorkspace, session: MemorySession, events: readonly StoredEvent[]): void => {
  for (const event of events) {
    if (isSpilled(event.body)) putBlob(workspace, event.body.bytes);
    session.events.set(event.seq, event);
    keepProjections(session, event);
  }
};

const newSession = (head: MemorySession['head']): MemorySession => ({
  head,
  importedTo: 0,
  events: new Map(),
  keys: new Map(),
  snapshots: [],
  paths: [],
  calls: [],
  charges: [],
});

const appendTo = (workspace: MemoryWorkspace, request: AppendRequest): AppendOutcome => {
  const session = workspace.sessions.get(request.session);
  const point = request.creates?.parent;
  const from = point && eventAt(workspace, point.session, point.seq);
  const parent = point && workspace.sessions.get(point.session);
  const events = request.events.map((event) => ({ ...event, payload: copyBytes(event.payload) }));
  const outcome = planAppend(
    {
      head: session?.head,
      parent: parent && from && { head: parent.head, hash: from.hash, at: from.at },
      key: request.key && session?.keys.get(request.key.key),
    },
    { ...request, events: events as [(typeof events)[0], ...typeof events] },
  );
  if (outcome.outcome !== 'appended') return outcome;
  const refusal = enterLedger(workspace, meterAppend(session?.head, request, outcome));
  if (refusal) return { outcome: 'quota', refusal };
  const target = session ?? newSession(outcome.head);
  keep(workspace, target, outcome.events);
  enterWork(workspace, outcome.head, outcome.events);
  if (request.key) {
    target.keys.set(request.key.key, { ...request.key, seq: outcome.events[0]!.seq, count: events.length });
  }
  target.head = outcome.head;
  workspace.sessions.set(request.session, target);
  return outcome;
};

const readFrom = (workspace: MemoryWorkspace, id: SessionId, range: ReadRange): readonly StoredEvent[] => {
  const { limit, order = 'ascending', maxBytes } = range;
  const events = segmentsToRead(segmentsIn(workspace, id), range)
    .flatMap(({ session, from, to }) =>
      [...workspace.sessions.get(session)!.events.values()].filter(({ seq }) => from <= seq && seq <= to),
    )
    .sort((a, b) => (order === 'ascending' ? a.seq - b.seq : b.seq - a.seq))
    .slice(0, limit)
    .map((event) => eventOf(workspace, event));
  let bytes = 0;
  const over = events.findIndex(({ body }, index) => {
    bytes += body.kind === 'bytes' ? body.bytes.length : 0;
    return index > 0 && maxBytes !== undefined && bytes > maxBytes;
  });
  return over === -1 ? events : events.slice(0, over);
};

const importInto = (
  name: WorkspaceId,
  workspace: MemoryWorkspace,
  copies: readonly SessionCopy[],
  owner: MemberId | undefined,
): Imported['sessions'] => {
  const added = new Map<SessionId, number>();
  for (const copy of copies) {
    const here = workspace.sessions.get(copy.session);
    const common = overlapAt(copy, here?.head);
    const from = copy.parent && eventAt(workspace, copy.parent.session, copy.parent.seq);
    const parent = copy.parent && workspace.sessions.get(copy.parent.session);
    const plan = planImport(
      name,
      {
        head: here?.head,
        overlapHash: common === undefined ? undefined : eventAt(workspace, copy.session, common)?.hash,
        parent: parent && from && { head: parent.head, hash: from.hash },
      },
      copy,
      owner,
    );
    const target = here ?? newSession(plan.head);
    keep(
      workspace,
      target,
      plan.added.map((event) => ({ ...event, imported: true })),
    );
    target.head = plan.head;
    if (plan.added.length > 0) target.importedTo = plan.head.seq;
    for (const key of newKeysOf(copy, (name) => target.keys.get(name))) target.keys.set(key.key, key);
    workspace.sessions.set(copy.session, target);
    added.set(copy.session, (added.get(copy.session) ?? 0) + plan.added.length);
  }
  return [...added].map(([session, count]) => ({ session, added: count }));
};

const snapshotFor = (
  workspace: MemoryWorkspace,
  id: SessionId,
  at: { seq: number; foldVersion: number },
): FoldSnapshot | undefined => {
  const newest = clipSegments(segmentsIn(workspace, id), 0, at.seq)
    .flatMap(({ session, from, to }) =>
      workspace.sessions.get(session)!.snapshots.filter(({ seq }) => from <= seq && seq <= to),
    )
    .filter(({ foldVersion }) => foldVersion === at.foldVersion)
    .sort((a, b) => b.seq - a.seq)[0];
  if (!newest) return undefined;
  const parts = Object.entries(newest.parts).map(([name, hash]) => [name, copyBytes(workspace.parts.get(hash)!)]);
  return { ...newest, parts: Object.fromEntries(parts) };
};

const closedError = (): PerdureError => new PerdureError('RUNTIME_CLOSED', 'the store is closed: open it again');

/**
 * A store that keeps everything in memory, for tests. Stores opened on the same database share it, as processes
 * would.
 */
export const openMemoryStore = (database: MemoryDatabase = newMemoryDatabase()): RuntimeStore => {
  let closed = false;
  const unwatch = new Set<() => void>();
  const overall = async <T>(work: () => T): Promise<T> => {
    if (closed) throw closedError();
    return work();
  };
  const within = <T>(name: WorkspaceId, work: (workspace: MemoryWorkspace) => T): Promise<T> =>
    overall(() => work(workspaceOf(database, name)));
  const wake = ({ workspace, session }: SessionKey): void => {
    const { seq, at } = workspaceOf(database, workspace).sessions.get(session)!.head;
    for (const watcher of database.watchers) {
      const { key } = watcher;
      if (key.workspace !== workspace || key.session !== session) continue;
      setImmediate(() => database.watchers.has(watcher) && watcher.wake(seq));
    }
    for (const hearer of database.hearers) {
      if (hearer.workspace === workspace) queueMicrotask(() => hearer.wake(session, seq, at));
    }
  };
  const wakeWorkers = (name: WorkspaceId): void => {
    for (const { workspace = name, wake } of database.workWatchers) if (workspace === name) queueMicrotask(wake);
  };
  const keepWatcher = <Watcher>(watchers: Set<Watcher>, watcher: Watcher): (() => void) => {
    if (closed) throw closedError();
    watchers.add(watcher);
    const stop = () => {
      watchers.delete(watcher);
      unwatch.delete(stop);
    };
    unwatch.add(stop);
    return stop;
  };
  return {
    append: (request) =>
      within(request.workspace, (workspace) => {
        const outcome = appendTo(workspace, request);
        if (outcome.outcome !== 'appended') return outcome;
        wake(request);
        if (concernsWork(outcome.events)) wakeWorkers(request.workspace);
        return { ...outcome, head: headOf(outcome), events: outcome.events.map(copyEvent) };
      }),
    head: (key) =>
      within(key.workspace, ({ sessions }) => {
        const session = sessions.get(key.session);
        return session && headOf(session);
      }),
    list: (name, query) => within(name, (workspace) => listSessionsIn(seenIn(workspace, query), query)),
    values: (key) =>
      within(key.workspace, ({ sessions }) => {
        const session = sessions.get(key.session);
        return session ? valuesOf(session.head.summary) : [];
      }),
    read: (key, range) => within(key.workspace, (workspace) => readFrom(workspace, key.session, range)),
    turnStarts: (key, { from, limit }) =>
      within(key.workspace, (workspace) =>
        readFrom(workspace, key.session, { limit: Number.POSITIVE_INFINITY })
          .filter(({ opensTurn, turn }) => opensTurn && turn >= from)
          .slice(0, limit)
          .map(({ turn, seq }) => ({ turn, seq })),
      ),
    family: (key) =>
      within(key.workspace, ({ sessions }) => {
        const root = sessions.get(key.session)?.head.root;
        const heads = [...sessions.values()].map(({ head }) => head).filter((head) => head.root === root);
        return inFamilyOrder(heads.map(({ session, parent, summary }) => ({ session, parent, summary })));
      }),
    putBlobs: (name, blobs, member = '') =>
      within(name, (workspace) => {
        encodeBlobsSync(blobs);
        const refusal = putCountedBlobs(workspace, blobs, member);
        if (refusal) throw quotaError(name, refusal);
      }),
    readBlob: (name, hash) =>
      within(name, ({ blobs }) => {
        const kept = blobs.get(hash);
        return kept && copyBytes(kept);
      }),
    hasBlobs: (name, hashes) => within(name, (workspace) => new Set(hashes.filter((hash) => touch(workspace, hash)))),
    looseBlobs: (name, query) => within(name, (workspace) => looseBlobsIn(workspace, query)),
    removeBlobs: (name, hashes, usedBefore) =>
      within(name, (workspace) => hashes.filter((hash) => removeBlob(workspace, hash, usedBefore))),
    now: () => overall(() => Date.now()),
    putSnapshot: (key, { seq, foldVersion, parts }) =>
      within(key.workspace, (workspace) => {
        const [owner] = clipSegments(segmentsIn(workspace, key.session), seq - 1, seq);
        const kept = Object.entries(parts).map(([name, bytes]) => [name, putPiece(workspace.parts, bytes)]);
        const snapshot = { seq, foldVersion, parts: Object.fromEntries(kept) };
        if (owner) workspace.sessions.get(owner.session)!.snapshots.push(snapshot);
      }),
    snapshot: (key, at) => within(key.workspace, (workspace) => snapshotFor(workspace, key.session, at)),
    keys: (key, only) =>
      within(key.workspace, ({ sessions }) =>
        [...(sessions.get(key.session)?.keys.values() ?? [])].filter((kept) => only === undefined || kept.key === only),
      ),
    importCopies: async (name, copies, owner) => {
      const pieces: SessionCopy[] = [];
      for await (const copy of copies) pieces.push(copy);
      return within(name, (workspace) => {
        const staged = copyWorkspace(workspace);
        const sessions = importInto(name, staged, pieces, owner);
        recountIn(staged);
        const refusal = importRefusalIn(staged, owner);
        if (refusal) throw quotaError(name, refusal);
        database.workspaces.set(name, staged);
        for (const { session } of sessions) wake({ workspace: name, session });
        return { sessions };
      });
    },
    findCommits: (name, query) =>
      within(name, (workspace) => findCommitsIn(workspace, query).map((event) => eventOf(workspace, event))),
    findCalls: (name, query) => within(name, (workspace) => findCallsIn(workspace, query)),
    sumCharges: (name, query) => within(name, (workspace) => sumChargesIn(workspace, query)),
    groupCharges: (name, query) => within(name, (workspace) => groupChargesIn(workspace, query)),
    ledger: (name, periods) => within(name, (workspace) => ledgerIn(workspace, periods)),
    findRepeated: ({ workspace: name, session }, query) =>
      within(name, (workspace) => findRepeatedIn(workspace, session, query)),
    findBlobEvents: (name, query) =>
      within(name, (workspace) => findBlobEventsIn(workspace, query).map((event) => eventOf(workspace, event))),
    rebuildProjections: (name) =>
      within(name, (workspace) => {
        const count = rebuildIn(workspace);
        recountIn(workspace);
        wakeWorkers(name);
        return count;
      }),
    findWork: (name, limit) => within(name, (workspace) => findWorkIn(name, workspace, limit)),
    claim: (claim) =>
      overall(() => {
        for (const worker of claim.gone ?? []) for (const name of leaveIn(database, worker)) wakeWorkers(name);
        if (claim.held) freeIn(database, claim.holder.worker, claim.held);
        return claimIn(database, claim);
      }),
    touch: (presence, options) => overall(() => touchIn(database, presence, options)),
    finish: (key, options) =>
      within(key.workspace, (workspace) => {
        if (finishIn(workspace, key.session, options)) wakeWorkers(key.workspace);
      }),
    release: (key, options) =>
      within(key.workspace, (workspace) => {
        if (releaseIn(workspace, key.session, options)) wakeWorkers(key.workspace);
      }),
    leave: (worker) =>
      overall(() => {
        for (const name of leaveIn(database, worker)) wakeWorkers(name);
      }),
    workers: () => overall(() => workersIn(database)),
    record: (name, kind, id) => within(name, (workspace) => findRecordIn(workspace, { kind, id })),
    records: (name, kind, query) => within(name, (workspace) => listRecordsIn(workspace, kind, query)),
    writeRecords: (name, writes) =>
      within(name, (workspace) => {
        const isDone = writeRecordsIn(workspace, writes);
        if (isDone && writes.some(({ kind }) => kind === 'quota')) recountIn(workspace);
        return isDone;
      }),
    sendNote: ({ workspace, session }, text) => {
      if (closed || Buffer.byteLength(text) > maxNoteBytes) return;
      for (const { store, hear } of database.noteHearers) {
        if (store !== unwatch) queueMicrotask(() => hear({ workspace, session }, text));
      }
    },
    hearNotes: (hear, onHearing) => {
      queueMicrotask(onHearing);
      return keepWatcher(database.noteHearers, { store: unwatch, hear });
    },
    watch: (key, wake) => keepWatcher(database.watchers, { key, wake }),
    watchWork: (workspace, wake) => keepWatcher(database.workWatchers, { workspace, wake }),
    watchWorkspace: (workspace, wake) => keepWatcher(database.hearers, { workspace, wake }),
    close: async () => {
      closed = true;
      for (const stop of unwatch) stop();
    },
  };
};
