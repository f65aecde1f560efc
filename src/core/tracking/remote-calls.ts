import type { BegunCall, CallBeginning, CallEnding } from '../../schema/call-request.ts';
import { PerdureError } from '../../schema/error.ts';
import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import { newId } from '../../schema/ids.ts';
import { isUntrustedBy } from '../../schema/taint-kinds.ts';
import { appendRefusal } from '../engine/append-refusal.ts';
import { idempotencyKeyFor } from '../engine/idempotency.ts';
import { readHead, type WriteDecision, writeDecision } from '../engine/session-writer.ts';
import type { Fence, SessionKey } from '../ports/store.ts';
import { asJson } from '../session/events/as-json.ts';
import { type Call, endCommit, endFact, isFromOutside, type ToolDeclaration } from '../session/events/call-events.ts';
import { claimOf } from '../session/events/chain.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { refuseUnlessHolder } from '../session/holder.ts';
import { type CallEnd, failedEnd, toldEnd } from '../session/runs/call-end.ts';
import { endLeftCall } from '../session/runs/settle-calls.ts';
import { saidFor } from '../session/said-for.ts';
import { leftCalls } from './journal.ts';
import { refuseRepeat } from './refuse-repeat.ts';
import { refuseTainted } from './refuse-tainted.ts';
import type { TrackingScope } from './settle-left.ts';

const fenceOf = (token: string): Fence => {
  const [epoch, claim] = token.split('.') as [string, string];
  return { epoch: Number(epoch), claim };
};

/** Rejects a stale token before anything else is checked. The store compares it again. */
const refuseOtherClaim = (key: SessionKey, { tracker }: SessionFold, { epoch, claim }: Fence): void => {
  if (tracker?.claim !== claim) throw appendRefusal(key, { outcome: 'fenced', epoch });
};

export interface WithKey {
  readonly idempotencyKey?: string | undefined;
}

/**
 * Journals the start of a call that a loop outside this process makes. Without a token, it claims the session first,
 * and ends the calls that earlier loops left in flight.
 */
export const beginCall = async (
  scope: TrackingScope,
  key: SessionKey,
  beginning: CallBeginning,
  { idempotencyKey }: WithKey,
): Promise<BegunCall> => {
  const { tool, callId: given = newId('call'), effects, repeat, token, safeWhenTainted } = beginning;
  const untrusted = isUntrustedBy(tool, beginning);
  const { actor, clock } = scope;
  const input = asJson(beginning.input, await scope.secrets.redactor());
  const fence = token === undefined ? undefined : fenceOf(token);
  const calledOn = (fold: SessionFold, isTaken: boolean): EventDraft => {
    const callId = isTaken ? newId('call') : given;
    const said = saidFor({ ...fold, runningCalls: {} }, { callId, tool });
    const about = {
      ...(effects && { effects }),
      ...(untrusted && { untrusted: true as const }),
      ...(said && { said }),
    };
    const payload = { callId, tool, input, inputHash: inputHash(fold.inputKey, input), ...about };
    return { type: 'tool.called', payload, actor, turn: 'current' };
  };
  const claiming = (state: SessionFold, isLast: boolean): WriteDecision => {
    const left = Object.entries(leftCalls(state)).map(([id, call]) => endLeftCall(state, id, call, clock.now()));
    const claimed: EventDraft = { type: 'session.tracked', payload: {}, actor, turn: 'current' };
    const drafts = [claimed, ...left, calledOn(state, false)];
    return { drafts, command: 'append', takesOver: true, raisesEpoch: true, fact: isLast };
  };
  const { events } = await writeDecision(scope, key, {
    read: () => readHead(scope, key),
    decide: async (state, { isLast }) => {
      if (fence) refuseOtherClaim(key, state, fence);
      refuseUnlessHolder(state, scope.caller, 'call tools');
      refuseTainted(state, { effects, safeWhenTainted }, { tool, callId: given });
      await refuseRepeat(scope, key, state, { effects, repeat }, { tool, input });
      if (!fence) return claiming(state, isLast);
      const drafts = [calledOn(state, Object.hasOwn(state.runningCalls, given))];
      return { drafts, command: 'append', fact: true };
    },
    writer: fence && { kind: 'run', ...fence },
    idempotencyKey: idempotencyKey === undefined ? undefined : idempotencyKeyFor(idempotencyKey, actor, beginning),
  });
  const { callId } = events.find((event) => event.type === 'tool.called')!.payload;
  if (token !== undefined) return { callId, token };
  const claimed = events.find((event) => event.type === 'session.tracked')!;
  // For a repeated request, another claim may have raised the epoch since. The token is then stale, as it must be.
  const head = await scope.store.head(key);
  return { callId, token: `${head!.epoch}.${claimOf(claimed.hash)}` };
};

const notInFlight = ({ session }: SessionKey, callId: string): PerdureError =>
  new PerdureError(
    'INVALID_INPUT',
    `${session} has no call ${callId} in flight: begin it first, and end each call once`,
    { details: { callId } },
  );

const endOf = (ending: CallEnding): CallEnd =>
  'output' in ending
    ? { outcome: 'ok', output: ending.output }
    : failedEnd(ending.outcome ?? 'threw', ending.error.name ?? 'Error', ending.error.message);

/** Journals the end of a call that `beginCall` began, with the files that it changed. */
export const endCall = async (
  scope: TrackingScope,
  key: SessionKey,
  callId: string,
  ending: CallEnding,
  { idempotencyKey }: WithKey,
): Promise<void> => {
  const { agents, actor, clock, store } = scope;
  const redactor = await scope.secrets.redactor();
  const fence = fenceOf(ending.token);
  const ended = endOf(ending);
  const told = toldEnd(ended, redactor);
  const files = 'output' in ending ? ending.files : undefined;
  const declaration: ToolDeclaration = { ...(files && { files: () => files }) };
  await writeDecision(scope, key, {
    read: () => readHead(scope, key),
    decide: async (state, { isLast }) => {
      refuseOtherClaim(key, state, fence);
      const running = Object.hasOwn(state.runningCalls, callId) ? state.runningCalls[callId] : undefined;
      if (!running) throw notInFlight(key, callId);
      const { tool, seq, at } = running;
      const [stored] = await store.read(key, { after: seq - 1, upTo: seq, limit: 1 });
      const { payload } = decodeEvent(key.workspace, stored!) as SessionEvent<'tool.called'>;
      const call: Call = { tool, callId, input: payload.input };
      const untrusted = isFromOutside(state, call, told) ? (true as const) : undefined;
      const fact = endFact(state, call, declaration, told, { durationMs: Math.max(0, clock.now() - at), untrusted });
      // The outcome must not be lost to conflicting writers, so the last attempt leaves out the commit.
      const by = { agents, redactor, isOutside: untrusted === true };
      const commit = isLast ? undefined : endCommit(state, call, declaration, ended, by);
      return { drafts: [fact, ...(commit ? [commit] : [])], fact: isLast };
    },
    writer: { kind: 'run', ...fence },
    idempotencyKey:
      idempotencyKey === undefined ? undefined : idempotencyKeyFor(idempotencyKey, actor, { callId, ...ending }),
  });
};
