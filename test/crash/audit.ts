import assert from 'node:assert/strict';
import { SessionFolds } from '../../src/core/engine/session-folds.ts';
import type { Head, SessionKey, Store, StoredEvent } from '../../src/core/ports/store.ts';
import { genesisHash, linkProblem } from '../../src/core/session/events/chain.ts';
import { summarize } from '../../src/core/session/summary.ts';
import { type SessionId, WorkspaceId } from '../../src/schema/ids.ts';
import type { SessionSummary } from '../../src/schema/summary.ts';
import { findMark, type Mark } from './marked-append.ts';
import type { Acknowledged } from './report.ts';

/** The results of earlier audits, so that the next audit checks only new events. */
export interface Ledger {
  /** The state of each session at its last successful audit. */
  readonly sound: Map<SessionId, { readonly seq: number; readonly hash: string; readonly summary: SessionSummary }>;
  /** The marks of the appends that are in the log. */
  readonly landed: Set<string>;
}

export const newLedger = (): Ledger => ({ sound: new Map(), landed: new Set() });

const workspace = WorkspaceId.parse('local');
const pageEvents = 500;
const pageBytes = 8 * 1024 * 1024;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const never = { everyEvents: Number.POSITIVE_INFINITY, everyBytes: Number.POSITIVE_INFINITY };

const complain = (problem: unknown): never => {
  throw problem;
};

/** Folds as a service computes them, but without writing snapshots. */
export const foldsOf = (store: Store): SessionFolds => new SessionFolds(store, never, complain);

async function* readUpTo(store: Store, key: SessionKey, after: number, upTo: number): AsyncGenerator<StoredEvent> {
  for (let last = after; last < upTo; ) {
    const page = await store.read(key, { after: last, upTo, limit: pageEvents, maxBytes: pageBytes });
    assert.ok(page.length > 0, `the log of ${key.session} ends at event ${last}, but its head is ${upTo}`);
    yield* page;
    last = page.at(-1)!.seq;
  }
}

/**
 * Returns the event that precedes a session's own events: none, or an event of its parent, which the audit of the
 * parent has checked.
 */
const startOf = async (store: Store, head: Head) => {
  if (!head.parent) return { seq: 0, hash: genesisHash };
  const { seq } = head.parent;
  const [event] = await store.read(head, { after: seq - 1, upTo: seq, limit: 1 });
  assert.ok(event, `the parent event of ${head.session} is missing`);
  return event;
};

/**
 * Checks that each append is in the log exactly once, complete and with its messages in a row. Only the records of its
 * calls may be between them.
 */
const markChecker = (landed: Set<string>) => {
  let begun: Mark | undefined;
  return {
    take: (event: StoredEvent): void => {
      const where = `${event.session} at ${event.seq}`;
      if (event.type !== 'message.appended') {
        if (begun) assert.equal(event.type, 'call.reported', `an append is incomplete: ${where}`);
        return;
      }
      const mark = event.body.kind === 'bytes' ? findMark(event.body.bytes) : undefined;
      if (begun) {
        assert.deepEqual(mark, { ...begun, place: begun.place + 1 }, `an append is incomplete: ${where}`);
      } else if (mark) {
        assert.equal(mark.place, 1, `an append lacks its first messages: ${where}`);
        assert.ok(!landed.has(mark.mark), `append ${mark.mark} landed twice, the second time in ${where}`);
      }
      begun = mark && mark.place < mark.count ? mark : undefined;
      if (mark && !begun) landed.add(mark.mark);
    },
    end: () => assert.equal(begun, undefined, 'the log ends with a partial append'),
  };
};

const auditSession = async (
  store: Store,
  ledger: Ledger,
  head: Head,
  acknowledged: ReadonlyMap<number, string>,
): Promise<void> => {
  const before = ledger.sound.get(head.session);
  const start = before ? { seq: before.seq, hash: Buffer.from(before.hash, 'hex') } : await startOf(store, head);
  let previous: { seq: number; hash: Uint8Array } = start;
  let summary = before?.summary;
  const marks = markChecker(ledger.landed);
  const missing = new Map(acknowledged);
  for await (const event of readUpTo(store, head, start.seq, head.seq)) {
    const problem = linkProblem(previous, event);
    assert.equal(problem, undefined, `${head.session}, event ${event.seq}: ${problem}`);
    const promised = missing.get(event.seq) ?? hex(event.hash);
    assert.equal(hex(event.hash), promised, `event ${event.seq} of ${head.session} differs from the acknowledged one`);
    missing.delete(event.seq);
    marks.take(event);
    summary = summarize(summary, event);
    previous = event;
  }
  marks.end();
  assert.deepEqual([...missing.keys()], [], `acknowledged events of ${head.session} are lost`);
  assert.equal(
    hex(head.hash),
    hex(previous.hash),
    `the head hash of ${head.session} differs from that of its last event`,
  );
  assert.deepEqual(head.summary, summary, `the summary of ${head.session} is not the fold of its log`);
  ledger.sound.set(head.session, { seq: head.seq, hash: hex(head.hash), summary: head.summary });
};

/**
 * Checks the fold at the head. Each append of this test opens and settles its calls, so an open call at the head
 * means that an append landed only in part.
 */
const auditFold = async (store: Store, key: SessionKey): Promise<void> => {
  const { openCalls } = await foldsOf(store).head(key);
  assert.deepEqual(openCalls, {}, `${key.session} ends with a partial append`);
};

const bySession = (reports: readonly Acknowledged[]): Map<SessionId, Map<number, string>> => {
  const sessions = new Map<SessionId, Map<number, string>>();
  for (const { session, events } of reports) {
    const known = sessions.get(session) ?? new Map<number, string>();
    for (const [seq, hash] of events) {
      assert.ok(!known.has(seq), `event ${seq} of ${session} was acknowledged twice`);
      known.set(seq, hash);
    }
    sessions.set(session, known);
  }
  return sessions;
};

/** Checks everything new since the last audit against the acknowledgements since then, and updates the ledger. */
export const auditStore = async (
  store: Store,
  ledger: Ledger,
  reports: readonly Acknowledged[],
): Promise<readonly SessionId[]> => {
  const acknowledged = bySession(reports);
  const listed = (await store.list(workspace, { limit: 1_000_000 })).sessions;
  for (const { id, seq } of listed) {
    const promised = acknowledged.get(id) ?? new Map<number, string>();
    acknowledged.delete(id);
    if (ledger.sound.get(id)?.seq === seq && promised.size === 0) continue;
    const head = await store.head({ workspace, session: id });
    assert.ok(head, `${id} is listed but has no head`);
    await auditSession(store, ledger, head, promised);
    await auditFold(store, head);
  }
  assert.deepEqual([...acknowledged.keys()], [], 'acknowledged sessions are lost');
  return listed.map(({ id }) => id);
};
