import type {
  BlobEventQuery,
  CallQuery,
  CallRecord,
  CommitQuery,
  EventRanges,
  RepeatQuery,
  StoredEvent,
} from '../core/ports/store.ts';
import { blobEventTypes } from '../core/session/events/blob-events.ts';
import { withReadActor } from '../core/session/events/imported-event.ts';
import type { SessionId } from '../schema/ids.ts';
import { callWithin, isEffective, isWithin } from '../stores/log/call-within.ts';
import { type Segment, spansOf } from '../stores/log/lineage.ts';
import { clipPath } from '../stores/log/path-range.ts';
import { madeCall, projectionOf, reportedCall, settledCall } from '../stores/log/projected-rows.ts';
import { RebuiltSession } from '../stores/log/rebuilt-session.ts';
import { eventOf, type MemorySession, type MemoryWorkspace, seenIn, segmentsIn } from './memory-database.ts';
import { enterWork } from './memory-queue.ts';

export const keepProjections = ({ paths, calls, charges }: MemorySession, written: StoredEvent): void => {
  const event = withReadActor(written);
  const { session, seq, turn, at, actor } = event;
  const projection = projectionOf(event);
  for (const path of projection.paths) paths.push({ ...path, session, seq, turn, at, actor });
  const { call, charge } = projection;
  if (charge) charges.push(charge);
  if (call?.kind === 'called') calls.push(madeCall(event, call));
  if (call?.kind === 'reported') calls.push(reportedCall(event, call));
  if (call?.kind !== 'ended') return;
  const open = calls.findLastIndex(({ callId, endedSeq }) => callId === call.callId && endedSeq === undefined);
  if (open >= 0) calls[open] = settledCall(calls[open]!, event, call);
};

interface Place {
  readonly session: SessionId;
  readonly seq: number;
  readonly at: number;
}

const text = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
const byTime = (a: Place, b: Place): number => b.at - a.at || text(b.session, a.session) || b.seq - a.seq;
const bySeq = (a: Place, b: Place): number => b.seq - a.seq;

/** The spans that a query of one session covers; undefined for the whole workspace. */
const spansFor = (workspace: MemoryWorkspace, within: EventRanges | undefined): readonly Segment[] | undefined =>
  within && spansOf(segmentsIn(workspace, within.session), within.ranges);

/** The records that match the filters, newest first, as one page. */
const pageOf = <R extends Place & { readonly tool?: string | undefined; readonly actor: string }>(
  records: readonly R[],
  spans: readonly Segment[] | undefined,
  { tool, actor, since = 0, until = Number.POSITIVE_INFINITY, before, limit }: CallQuery | CommitQuery,
): readonly R[] => {
  const order = spans ? bySeq : byTime;
  return records
    .filter((each) => !spans || spans.some((span) => isWithin(span, each)))
    .filter((each) => (tool === undefined || each.tool === tool) && (actor === undefined || each.actor === actor))
    .filter((each) => since <= each.at && each.at <= until)
    .filter((each) => !before || order(before, each) < 0)
    .sort(order)
    .slice(0, limit);
};

export const findBlobEventsIn = (
  workspace: MemoryWorkspace,
  { session, after, limit }: BlobEventQuery,
): readonly StoredEvent[] => {
  const order = (a: Pick<Place, 'session' | 'seq'>, b: typeof a): number => text(a.session, b.session) || a.seq - b.seq;
  const types: readonly string[] = blobEventTypes;
  return [...workspace.sessions.values()]
    .flatMap(({ events }) => [...events.values()])
    .filter((event) => types.includes(event.type) && (session === undefined || event.session === session))
    .filter((event) => !after || order(after, event) < 0)
    .sort(order)
    .slice(0, limit);
};

export const findCommitsIn = (workspace: MemoryWorkspace, query: CommitQuery): readonly StoredEvent[] => {
  const { prefix = '', provenance } = query;
  const rows = seenIn(workspace, query)
    .flatMap(({ paths }) => paths)
    .filter((row) => row.path.startsWith(clipPath(prefix)))
    .filter((row) => !provenance || (row.provenance !== undefined && provenance.includes(row.provenance)));
  const once = new Map(rows.map((row) => [`${row.session}/${row.seq}`, row]));
  return pageOf([...once.values()], spansFor(workspace, query.within), query).flatMap(
    ({ session, seq }) => workspace.sessions.get(session)?.events.get(seq) ?? [],
  );
};

export const findCallsIn = (workspace: MemoryWorkspace, query: CallQuery): readonly CallRecord[] => {
  const { within } = query;
  const live = within && spansOf(segmentsIn(workspace, within.session), within.live);
  const calls = seenIn(workspace, query)
    .flatMap((session) => session.calls)
    .map((call) => (live ? callWithin(within.session, live, call) : call))
    .filter((call) => !query.lasting || isLasting(call))
    .filter(({ status }) => !query.status || query.status.includes(status));
  return pageOf(calls, spansFor(workspace, within), query);
};

const isLasting = ({ effects, confined }: CallRecord): boolean => !confined && effects !== 'none';

export const findRepeatedIn = (
  workspace: MemoryWorkspace,
  session: SessionId,
  { tool, inputHash, live }: RepeatQuery,
): CallRecord | undefined => {
  const root = workspace.sessions.get(session)?.head.root;
  const own = spansOf(segmentsIn(workspace, session), live);
  return [...workspace.sessions.values()]
    .filter(({ head }) => head.root === root)
    .flatMap(({ calls }) => calls)
    .filter((call) => call.tool === tool && call.inputHash === inputHash && isLasting(call) && isEffective(call))
    .filter((call) => !own.some((span) => isWithin(span, call)))
    .sort(byTime)[0];
};

/** Returns the number of events read. */
export const rebuildIn = (workspace: MemoryWorkspace): number => {
  let count = 0;
  for (const session of workspace.sessions.values()) {
    session.paths.length = 0;
    session.calls.length = 0;
    session.charges.length = 0;
    session.snapshots.length = 0;
    const rebuilt = new RebuiltSession(session.importedTo, session.head.summary);
    for (const stored of [...session.events.values()].sort((a, b) => a.seq - b.seq)) {
      const event = eventOf(workspace, stored);
      keepProjections(session, event);
      session.events.set(stored.seq, { ...stored, ...rebuilt.add(event) });
      count += 1;
    }
    const { summary, account } = rebuilt.state ?? session.head;
    const { seq, hash, at } = rebuilt.headFrom(session.head.seq) ?? session.head;
    session.head = { ...session.head, seq, hash, at, summary, account };
    const own = [...session.events.values()].filter((event) => event.seq > session.importedTo);
    enterWork(workspace, session.head, own);
  }
  return count;
};
