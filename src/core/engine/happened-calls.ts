import { type HappenedCall, type HappenedCalls, maxHappenedCalls, maxHappenedInput } from '../../schema/happened.ts';
import type { Json } from '../../schema/json.ts';
import type { Effects } from '../../schema/message.ts';
import type { CallQuery, CallRecord, SessionKey } from '../ports/store.ts';
import { agentName } from '../session/agent.ts';
import { clip } from '../session/context/clip.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { inputHash } from '../session/events/input-hash.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import type { SessionFold } from '../session/fold.ts';
import { joinHappened, newlyHappened, noneHappened } from '../session/happened.ts';
import { isLive, type LiveRange } from '../session/live-lineage.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { markFor } from '../session/tracking-fold.ts';
import { partingOf, type Reach, reachOf } from './lineage-reach.ts';
import { readReportedCall } from './reported-call.ts';
import { type AgentAccess, keyOf, type LogAccess, type WriteAccess } from './scope.ts';

export type HappenedAccess = LogAccess & AgentAccess & Pick<WriteAccess, 'secrets'>;

/** The statuses of calls that ran. A call that was refused before it ran has none of them. */
const ran = ['ok', 'threw', 'timeout', 'interrupted', 'cancelled', 'running'] as const;

const everything: LiveRange = [1, Number.MAX_SAFE_INTEGER];
const pageSize = 200;
const readsAtOnce = 16;
/** Calls beyond these are not counted. */
const maxCounted = 20_000;
/** A call's child session is named by one of the events after the call. */
const childWithin = 8;
/** Subagents of subagents are followed to this depth. */
const maxDepth = 8;

/**
 * The effects of a call that going back does not undo. A log of release 0.1.0 does not name them: then the agents that
 * this runtime holds do, and a tool that none of them has counts as `once`.
 */
const lastingEffects = ({ agents }: AgentAccess, fold: SessionFold, call: CallRecord): Effects => {
  if (call.effects) return call.confined ? 'none' : call.effects;
  const bound = fold.bound && agents.get(agentName(fold.bound.agent));
  const tool = [...(bound ? [bound] : []), ...agents.values()]
    .map(({ tools }) => tools.get(call.tool))
    .find((each) => each !== undefined);
  return tool ? (tool.isConfined(null) && !fold.boundTo ? 'none' : tool.effects) : 'once';
};

async function* eachCall(
  { store, workspace }: LogAccess,
  { session }: SessionKey,
  ranges: readonly LiveRange[],
): AsyncGenerator<CallRecord> {
  const within = { session, ranges, live: [everything] };
  for (let before: CallQuery['before']; ; ) {
    const page = await store.findCalls(workspace, { within, status: ran, lasting: true, limit: pageSize, before });
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    before = last;
  }
}

interface Source {
  readonly key: SessionKey;
  readonly fold: SessionFold;
  readonly ranges: readonly LiveRange[];
  /** The key for the hashes of inputs in the list. */
  readonly inputKey: string;
  readonly depth?: number;
}

/** Reads the event that began a call, and the child session that works for it. An unreadable input stays unknown. */
const readCall = async (
  scope: LogAccess,
  call: CallRecord,
): Promise<{ readonly input?: Json | undefined; readonly child?: SessionKey['session'] | undefined }> => {
  const { store, workspace } = scope;
  const { session, seq, callId } = call;
  try {
    const stored = await store.read(
      { workspace, session },
      { after: seq - 1, limit: childWithin, maxBytes: 1024 ** 2 },
    );
    const events = stored.map((each) => decodeEvent(workspace, each));
    const called = events.find((event) => event.type === 'tool.called' && event.payload.callId === callId);
    const opened = events.find((event) => event.type === 'child.opened' && event.payload.callId === callId);
    if (events[0]?.type === 'call.reported') return { input: (await readReportedCall(scope, call)).input?.value };
    return {
      input: called?.type === 'tool.called' ? called.payload.input : undefined,
      child: opened?.type === 'child.opened' ? opened.payload.session : undefined,
    };
  } catch (error) {
    if (isSessionDamage(error)) return {};
    throw error;
  }
};

/** Whether data from outside had come into the session before a call. */
const taintedAt = ({ taint }: SessionFold, seq: number): Pick<HappenedCall, 'tainted'> =>
  taint.since !== undefined && taint.since < seq ? { tainted: true } : {};

const clippedInput = (input: Json | undefined, redactor: Redactor): string => {
  const text = redactor.text(JSON.stringify(input) ?? '');
  return text.length > maxHappenedInput ? `${clip(text, maxHappenedInput)}…` : text;
};

/**
 * Returns the calls beyond the point that a loop outside Perdure appended without a result. The loop may have died
 * within them, so their outcome is unknown. A tracked call is left out, because it has a record.
 */
const unansweredBeyond = async (
  scope: HappenedAccess,
  key: SessionKey,
  head: SessionFold,
  { seq: point }: SessionFold,
): Promise<HappenedCalls> => {
  const { openCalls, tracked, turn } = head;
  const redactor = await scope.secrets.redactor();
  const open = Object.entries(openCalls).flatMap(([callId, { tool, seq, inputHash: hash }]) =>
    hash === undefined || seq <= point || markFor(tracked, { callId, tool, inputHash: hash, turn }) !== undefined
      ? []
      : [{ callId, tool, seq, inputHash: hash }],
  );
  const calls: HappenedCall[] = [];
  for (const call of open.slice(-maxHappenedCalls)) {
    const [stored] = await scope.store.read(key, { after: call.seq - 1, limit: 1 });
    const event = stored && decodeEvent(scope.workspace, stored);
    if (event?.type !== 'message.appended' || event.payload.message.role !== 'assistant') continue;
    const part = event.payload.message.content.find((each) => each.type === 'tool-call' && each.callId === call.callId);
    const input = part?.type === 'tool-call' ? clippedInput(part.input, redactor) : '';
    const place = { session: event.session, at: event.at, ...taintedAt(head, call.seq) };
    calls.push({ ...call, ...place, effects: 'once', input, outcome: 'running' });
  }
  return { calls, more: Math.max(0, open.length - maxHappenedCalls) };
};

/** Returns the calls with lasting effects in these ranges, and those of the subagents that worked for them. */
const callsIn = async (scope: HappenedAccess, source: Source): Promise<HappenedCalls> => {
  const { key, fold, ranges, inputKey, depth = 0 } = source;
  const redactor = await scope.secrets.redactor();
  const kept: { readonly call: CallRecord; readonly effects: 'once' | 'idempotent' }[] = [];
  let more = 0;
  for await (const call of eachCall(scope, key, ranges)) {
    const effects = lastingEffects(scope, fold, call);
    if (effects === 'none') continue;
    if (kept.length < maxHappenedCalls) kept.push({ call, effects });
    else if (++more >= maxCounted) break;
  }
  const entryOf = async ({ call, effects }: (typeof kept)[number]): Promise<HappenedCalls> => {
    const { input, child } = await readCall(scope, call);
    const { session, seq, endedSeq, callId, tool, status: outcome, at } = call;
    const entry: HappenedCall = {
      session,
      seq,
      ...(endedSeq !== undefined && { endedSeq }),
      callId,
      tool,
      effects,
      inputHash: inputKey === fold.inputKey ? call.inputHash : inputHash(inputKey, input),
      input: clippedInput(input, redactor),
      outcome,
      at,
      ...taintedAt(fold, seq),
    };
    const own = { calls: [entry], more: 0 };
    return child && depth < maxDepth ? joinHappened([own, await ofChild(scope, source, child)]) : own;
  };
  const found: HappenedCalls[] = [];
  for (let from = 0; from < kept.length; from += readsAtOnce) {
    found.push(...(await Promise.all(kept.slice(from, from + readsAtOnce).map(entryOf))));
  }
  const all = joinHappened(found);
  return { ...all, more: all.more + more };
};

const ofChild = async (scope: HappenedAccess, { inputKey, depth = 0 }: Source, child: SessionKey['session']) => {
  const key = keyOf(scope, child);
  try {
    const fold = await scope.folds.head(key);
    return await callsIn(scope, { key, fold, ranges: [everything], inputKey, depth: depth + 1 });
  } catch (error) {
    if (isSessionDamage(error)) return noneHappened;
    throw error;
  }
};

/** Whether a call that was left behind is on the live lineage again, from its beginning to its end. */
const isBackOn =
  (reach: Reach, live: readonly LiveRange[]) =>
  ({ session, seq, endedSeq }: HappenedCall): boolean =>
    endedSeq !== undefined && endedSeq <= (reach.get(session) ?? 0) && isLive(live, seq) && isLive(live, endedSeq);

/** Calls that going back leaves behind. `all` is what the session records, and `fresh` what it did not know before. */
export interface LeftBehind {
  readonly all: HappenedCalls;
  readonly fresh: HappenedCalls;
}

/** Returns the calls that happened beyond `target`, the fold at an earlier point of the session. */
export const happenedBeyond = async (
  scope: HappenedAccess,
  key: SessionKey,
  head: SessionFold,
  target: SessionFold,
  known = head.happened,
): Promise<LeftBehind> => {
  // A call that was running at the point ended beyond it.
  const running = Object.values(target.runningCalls).map(({ seq }): LiveRange => [seq, seq]);
  const beyond: readonly LiveRange[] = target.seq < head.seq ? [...running, [target.seq + 1, head.seq]] : [];
  const found =
    beyond.length > 0
      ? await callsIn(scope, { key, fold: head, ranges: beyond, inputKey: head.inputKey })
      : noneHappened;
  const earlier = [target.happened, head.happened].filter((list) => list !== undefined);
  const isBack = earlier.length > 0 ? isBackOn(await reachOf(scope, key), target.live) : undefined;
  const unanswered = await unansweredBeyond(scope, key, head, target);
  const all = joinHappened([joinHappened(earlier, isBack), found, unanswered]);
  return { all, fresh: newlyHappened(all, known) };
};

/** Returns the calls that happened in a branch, for the session that adopts it. */
export const happenedIn = async (
  scope: HappenedAccess,
  [ourKey, ours]: readonly [SessionKey, SessionFold],
  [theirKey, theirs]: readonly [SessionKey, SessionFold],
): Promise<LeftBehind> => {
  const [ourReach, theirReach] = [await reachOf(scope, ourKey), await reachOf(scope, theirKey)];
  const parting = partingOf(ourReach, theirReach) ?? 0;
  const ranges: readonly LiveRange[] = parting < theirs.seq ? [[parting + 1, theirs.seq]] : [];
  const found = await callsIn(scope, { key: theirKey, fold: theirs, ranges, inputKey: ours.inputKey });
  const isBack = isBackOn(ourReach, ours.live);
  const all = joinHappened([ours.happened, joinHappened([theirs.happened, found], isBack)]);
  return { all, fresh: newlyHappened(all, ours.happened) };
};
