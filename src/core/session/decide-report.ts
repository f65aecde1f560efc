import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { Message, ToolResultPart } from '../../schema/message.ts';
import type { ReportedFiles } from '../../schema/reported-files.ts';
import { shorten } from './context/clip.ts';
import { decideCommit } from './decide-commit.ts';
import { countUse } from './events/call-events.ts';
import { inputHash, outputHash } from './events/input-hash.ts';
import type { SessionFold } from './fold.ts';
import type { Redactor } from './redaction/redact.ts';
import type { StateDraft } from './state/state-change.ts';
import { markFor } from './tracking-fold.ts';

interface ReportedCall {
  readonly result: ToolResultPart;
  readonly inputHash: string;
}

/** The calls that the messages report, by the message with their results. */
type Reports = ReadonlyMap<Message, readonly ReportedCall[]>;

/**
 * Finds the results that are the only record of their call. A tracked call has its own record, and so has a call of a
 * run, whose open call has no input hash.
 */
const findReports = (state: SessionFold, messages: readonly Message[], redactor: Redactor): Reports => {
  const open = new Map(Object.entries(state.openCalls).map(([callId, call]) => [callId, call.inputHash]));
  const tracked = { ...state.tracked };
  const reports = new Map<Message, readonly ReportedCall[]>();
  let turn = state.turn;
  for (const message of messages) {
    if (message.role === 'user') turn = Math.max(turn, state.lastTurn) + 1;
    if (message.role === 'assistant') {
      for (const part of message.content) {
        if (part.type === 'tool-call') open.set(part.callId, inputHash(state.inputKey, redactor.json(part.input)));
      }
    }
    if (message.role !== 'tool') continue;
    const found = message.content.flatMap((result): ReportedCall[] => {
      const hash = open.get(result.callId);
      if (hash === undefined) return [];
      const { callId, tool } = result;
      const mark = markFor(tracked, { callId, tool, inputHash: hash, turn });
      if (mark === undefined) return [{ result, inputHash: hash }];
      delete tracked[mark];
      return [];
    });
    if (found.length > 0) reports.set(message, found);
  }
  return reports;
};

const reportDraft = ({ result, inputHash: hash }: ReportedCall, actor: Actor): EventDraft => {
  const { callId, tool, outcome, output } = result;
  const payload = {
    callId,
    tool,
    inputHash: hash,
    outcome,
    ...(outcome === 'ok' && { outputHash: outputHash(output) }),
  };
  return { type: 'call.reported', payload, actor, turn: 'current' };
};

const maxSummaryChars = 500;

const summaryOf = ([first, ...others]: readonly ReportedCall[], redactor: Redactor): string => {
  const { outcome, output } = first!.result;
  if (others.length > 0) return `${others.length + 1} calls that were appended with their results`;
  const text = typeof output === 'string' ? output : JSON.stringify(redactor.json(output));
  return shorten(redactor.text(outcome === 'ok' ? text : `${outcome}: ${text}`), maxSummaryChars);
};

const applyReports = (draft: StateDraft, calls: readonly ReportedCall[], files: ReportedFiles): void => {
  for (const { result } of calls) {
    const { callId, tool, outcome } = result;
    countUse(draft, tool, outcome === 'ok');
    const changed = outcome === 'ok' && Object.hasOwn(files, callId) ? files[callId]! : {};
    for (const [path, change] of Object.entries(changed)) {
      if (path !== '__proto__') draft.filesModified[path] = { change, tool, callId };
    }
  }
};

const refuseUnknownFiles = (files: ReportedFiles, calls: readonly ReportedCall[]): void => {
  const known = new Set(calls.map(({ result }) => result.callId));
  const unknown = Object.keys(files).find((callId) => !known.has(callId));
  if (unknown === undefined) return;
  throw new PerdureError(
    'INVALID_INPUT',
    `files names the call ${unknown}, but this append has no result of an unrecorded call with that id: append the result of the call together with its files`,
    { details: { callId: unknown } },
  );
};

export interface ReportDrafts {
  /** The events that follow a message. */
  after(message: Message): readonly EventDraft[];
  /** The commit that counts the calls. Undefined if there are none. */
  readonly commit?: EventDraft | undefined;
}

/** Returns the records of the calls that a loop outside Perdure made and reports only by its messages. */
export const decideReports = (
  state: SessionFold,
  messages: readonly Message[],
  files: ReportedFiles,
  actor: Actor,
  redactor: Redactor,
): ReportDrafts => {
  const reports = findReports(state, messages, redactor);
  const calls = [...reports.values()].flat();
  refuseUnknownFiles(files, calls);
  const after = (message: Message) => (reports.get(message) ?? []).map((call) => reportDraft(call, actor));
  if (calls.length === 0) return { after };
  const [first] = calls as [ReportedCall];
  const { tool, callId } = first.result;
  const commit = decideCommit(
    state,
    {
      type: 'commit',
      change: (draft) => applyReports(draft, calls, files),
      by: 'tool',
      ...(calls.length === 1 && { cause: { tool, callId }, inputHash: first.inputHash }),
      outputSummary: summaryOf(calls, redactor),
      agents: new Map(),
    },
    actor,
    redactor,
  );
  return { after, commit: commit && { ...commit, actor, turn: 'current' } };
};
