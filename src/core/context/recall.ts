import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import type { LogAccess, WriteAccess } from '../engine/scope.ts';
import type { CallRecord, SessionKey } from '../ports/store.ts';
import { turnOfCall, turnsOfKey } from '../session/context/recall-key.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isLive } from '../session/live-lineage.ts';
import { shownState } from '../session/waiting.ts';
import { findCalls } from '../state/commits.ts';
import { findNamedCalls } from './named-calls.ts';
import { messagesBackwards, readTurns, type TranscriptEntry } from './transcript.ts';

/** A call that is recorded only in the journal, with its input and output. */
export interface RecalledCall extends CallRecord {
  readonly input: Json;
  readonly output?: Json | undefined;
  readonly error?: { readonly name: string; readonly message: string } | undefined;
}

const isOf = (message: Message, callId: string): boolean =>
  message.content.some((part) => 'callId' in part && part.callId === callId);

const eventAt = async (scope: LogAccess, key: SessionKey, seq: number): Promise<SessionEvent | undefined> => {
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const [stored] = await scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 });
  return stored && decodeEvent(key.workspace, stored);
};

const outcomeOf = (event: SessionEvent | undefined): Pick<RecalledCall, 'output' | 'error'> => {
  if (event?.type === 'tool.completed') return { output: event.payload.output };
  return event?.type === 'tool.failed' ? { error: event.payload.error } : {};
};

const trackedCall = async (scope: LogAccess, key: SessionKey, callId: string): Promise<RecalledCall | undefined> => {
  const { calls } = await findCalls(scope, key, { callId, limit: 1 });
  const [call] = calls;
  const called = call && (await eventAt(scope, key, call.seq));
  if (called?.type !== 'tool.called') return undefined;
  const ended = call!.endedSeq === undefined ? undefined : await eventAt(scope, key, call!.endedSeq);
  return { ...call!, input: called.payload.input, ...outcomeOf(ended) };
};

/** The messages that mention the call, or the call's journal entry if no message mentions it. */
const recallCall = async (
  scope: LogAccess,
  key: SessionKey,
  callId: string,
): Promise<readonly TranscriptEntry[] | RecalledCall | undefined> => {
  const entries: TranscriptEntry[] = [];
  for await (const entry of messagesBackwards(scope, key)) if (isOf(entry.message, callId)) entries.push(entry);
  return entries.length > 0 ? entries.reverse() : trackedCall(scope, key, callId);
};

/** Returns a text that suggests keys which can be recalled. */
const adviceOn = (kind: string, { turn, parts }: { turn: number; parts: readonly string[] }): string => {
  const known: Readonly<Record<string, string>> = {
    turn: turn > 0 ? `use a turn up to ${turn}` : 'there is no turn yet: send an input first',
    call: 'use the id of a call in this session',
    output: 'use the seq of a tool.completed event',
    fact: 'try facts, which returns all of them',
    summary: 'nothing was compacted yet; try turn:1',
    happened: 'no call was left behind by a rewind, a retry, a fork or an adoption',
    named: 'no call of that turn has this name: use the turn, such as turn:3, for all of it',
  };
  const keys = ['turn:3', 'turns:1-4', 'file:PATH@turn:3', 'TOOL:INPUT@turn:3', 'call:ID', 'output:SEQ', 'fact:KEY'];
  const all = [...keys, 'summary', 'happened', ...parts].join(', ');
  return Object.hasOwn(known, kind) ? known[kind]! : `try one of ${all}`;
};

/**
 * Returns content that was left out of the context, by its name or its key: `turn:3`, `turns:1-4`,
 * `file:src/a.ts@turn:4`, `call:ID`, `output:SEQ`, `fact:KEY`, `summary`, `happened`, or the name of a part of the
 * state.
 */
export const recallKey = async (
  scope: LogAccess & Pick<WriteAccess, 'secrets'>,
  key: SessionKey,
  wanted: string,
): Promise<readonly TranscriptEntry[] | unknown> => {
  const turns = turnsOfKey(wanted);
  if (turns) {
    const found = await readTurns(scope, key, turns);
    if (found.length > 0) return found;
  }
  const [, kind, rest = ''] = /^(call|output|fact):(.+)$/s.exec(wanted) ?? [];
  if (kind === 'output' && isLive((await scope.folds.head(key)).live, Number(rest))) {
    const { output } = outcomeOf(await eventAt(scope, key, Number(rest)));
    if (output !== undefined) return output;
  }
  if (kind === 'call') {
    const found = await recallCall(scope, key, rest);
    if (found) return found;
  }
  const fold = await scope.folds.head(key);
  const { compaction, turn, happened } = fold;
  const state = shownState(fold);
  if (wanted === 'happened' && happened) return { calls: happened.calls, more: happened.more };
  if (wanted === 'summary' && compaction) return compaction.summary;
  if (kind === 'fact' && Object.hasOwn(state.facts, rest)) return state.facts[rest];
  if (!kind && Object.hasOwn(state, wanted)) return state[wanted as keyof typeof state];
  const named = await findNamedCalls(scope, key, wanted);
  if (named.length > 0) return named;
  const about = turnOfCall(wanted) === undefined ? wanted : 'named';
  const advice = adviceOn(turns ? 'turn' : (kind ?? about), { turn, parts: Object.keys(state) });
  throw new PerdureError('POINT_NOT_FOUND', `there is nothing to recall under "${wanted}": ${advice}`, {
    details: { key: wanted },
  });
};
