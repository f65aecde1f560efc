import type { SessionEvent } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import type { ToolOutcome, ToolResultPart } from '../../schema/message.ts';
import type { LogAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey, StoredEvent } from '../ports/store.ts';
import type { ContextEntry } from '../session/context/context-units.ts';
import { callKey, keyName, turnOfCall } from '../session/context/recall-key.ts';
import { joinTracked, type TrackedCall, TrackedCalls } from '../session/context/tracked-calls.ts';
import { isMessage, liveEvents, messagesBackwards, rangeOfTurns } from './transcript.ts';

/** A call that was left out of a context or shown in part, as `recall` returns it. */
export interface NamedCall {
  readonly seq: number;
  readonly turn: number;
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  /** Absent if the call has no result. */
  readonly outcome?: ToolOutcome | undefined;
  /** The whole output, or the message of the error. */
  readonly output?: Json | undefined;
}

type Outcome = Pick<ToolResultPart, 'outcome' | 'output'>;

/** The outcome that a run recorded for a call. Unlike the message to the model, it is never cut. */
const recordedOutcome = ({ type, payload }: SessionEvent): readonly [callId: string, Outcome] | undefined => {
  if (type === 'tool.completed') return [payload.callId, { outcome: 'ok', output: payload.output }];
  if (type !== 'tool.failed') return undefined;
  return [payload.callId, { outcome: payload.outcome, output: payload.error.message }];
};

/** The messages of a live turn with its tracked calls, and the outcomes that runs recorded. */
const readTurn = async (scope: LogAccess, key: SessionKey, turn: number) => {
  const head = await scope.folds.head(key);
  const range = await rangeOfTurns(scope, key, head, turn, turn);
  const entries: ContextEntry[] = [];
  const tracked: TrackedCall[] = [];
  const recorded = new Map<string, Outcome>();
  if (!range) return { entries, recorded };
  const calls = new TrackedCalls();
  const isWanted = (stored: StoredEvent) => isMessage(stored) || stored.type.startsWith('tool.');
  for await (const event of liveEvents(scope, key, { live: head.live, seq: range.last }, undefined, isWanted)) {
    if (event.seq < range.first) break;
    const { seq, type, run } = event;
    if (type === 'message.appended') entries.push({ seq, turn: event.turn, message: event.payload.message });
    const outcome = run && recordedOutcome(event);
    if (outcome) recorded.set(...outcome);
    const call = run ? undefined : calls.take(event);
    if (call) tracked.push(call);
  }
  return { entries: joinTracked(entries.reverse(), tracked.reverse()), recorded };
};

const resultsIn = ({ message }: Pick<ContextEntry, 'message'>): readonly ToolResultPart[] =>
  message.role === 'tool' ? message.content : [];

/** The result of a call in a message of a later turn. */
const lateResult = async (scope: LogAccess, key: SessionKey, { seq, callId }: NamedCall) => {
  let found: ToolResultPart | undefined;
  for await (const entry of messagesBackwards(scope, key)) {
    if (entry.seq <= seq) break;
    found = resultsIn(entry).find((part) => part.callId === callId) ?? found;
  }
  return found;
};

/**
 * The calls that have this key or name, in the order of their turn. A secret may have been redacted from the name after
 * the call was made.
 */
export const findNamedCalls = async (
  scope: LogAccess & Pick<WriteAccess, 'secrets'>,
  key: SessionKey,
  wanted: string,
): Promise<readonly NamedCall[]> => {
  const turn = turnOfCall(wanted);
  if (turn === undefined) return [];
  const redactor = await scope.secrets.redactor();
  const isWanted = (call: Pick<NamedCall, 'tool' | 'input'>): boolean => {
    const known = callKey(call, turn);
    return [known, keyName(known)].some((each) => each === wanted || redactor.text(each) === wanted);
  };
  const { entries, recorded } = await readTurn(scope, key, turn);
  const results = Map.groupBy(entries.flatMap(resultsIn), ({ callId }) => callId);
  const calls = entries.flatMap(({ seq, message }) =>
    message.content.flatMap((part): NamedCall[] => {
      if (part.type !== 'tool-call') return [];
      const { callId, tool, input } = part;
      const shown = results.get(callId)?.shift();
      const { outcome, output } = recorded.get(callId) ?? shown ?? {};
      return isWanted(part) ? [{ seq, turn, callId, tool, input, outcome, output }] : [];
    }),
  );
  return Promise.all(
    calls.map(async (call) => {
      const { outcome, output } = call.outcome ? call : ((await lateResult(scope, key, call)) ?? call);
      return { ...call, outcome, output };
    }),
  );
};
