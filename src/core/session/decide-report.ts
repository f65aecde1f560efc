import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { Message, ToolResultPart } from '../../schema/message.ts';
import type { ReportedFiles } from '../../schema/reported-files.ts';
import type { SaidRef } from '../../schema/said.ts';
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
  /** The message that asked for the call. */
  readonly said: SaidRef;
}

/** The calls that the messages report, by the message with their results. */
interface Reports {
  readonly calls: ReadonlyMap<Message, readonly ReportedCall[]>;
  /** The results that come from outside. */
  readonly outside: ReadonlySet<ToolResultPart>;
}

/**
 * Finds the results that are the only record of their call. A tracked call has its own record, and so has a call of a
 * run, whose open call has no input hash.
 */
const findReports = (state: SessionFold, messages: readonly Message[], redactor: Redactor): Reports => {
  const open = new Map(
    Object.entries(state.openCalls).map(([callId, { inputHash: hash, message, seq }]) => [
      callId,
      { hash, said: { message, seq } },
    ]),
  );
  const tracked = { ...state.tracked };
  const reports = new Map<Message, readonly ReportedCall[]>();
  const outside = new Set<ToolResultPart>();
  let turn = state.turn;
  let seq = state.seq;
  for (const message of messages) {
    seq += 1;
    if (message.role === 'user') turn = Math.max(turn, state.lastTurn) + 1;
    if (message.role === 'assistant') {
      for (const part of message.content) {
        if (part.type !== 'tool-call') continue;
        const hash = inputHash(state.inputKey, redactor.json(part.input));
        open.set(part.callId, { hash, said: { message: message.id, seq } });
      }
    }
    if (message.role !== 'tool') continue;
    const found = message.content.flatMap((result): ReportedCall[] => {
      const { hash, said } = open.get(result.callId) ?? {};
      if (hash === undefined || !said) return [];
      const { callId, tool } = result;
      const mark = markFor(tracked, { callId, tool, inputHash: hash, turn });
      // Nobody declared the tool of a call that is only reported, so it may have read anything.
      if (mark === undefined ? result.untrusted !== false : tracked[mark]!.untrusted || result.untrusted) {
        outside.add(result);
      }
      if (mark === undefined) return [{ result, inputHash: hash, said }];
      delete tracked[mark];
      return [];
    });
    if (found.length > 0) reports.set(message, found);
    seq += found.length; // each report follows the message
  }
  return { calls: reports, outside };
};

const reportDraft = ({ result, inputHash: hash, said }: ReportedCall, actor: Actor): EventDraft => {
  const { callId, tool, outcome, output } = result;
  const payload = {
    callId,
    tool,
    inputHash: hash,
    outcome,
    ...(outcome === 'ok' && { outputHash: outputHash(output) }),
    said,
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

/** The seqs of the messages with results, each of which is followed by the records of its calls. */
const resultSeqs = (
  { seq: head }: SessionFold,
  messages: readonly Message[],
  reports: Reports['calls'],
): readonly number[] => {
  let seq = head;
  return messages.flatMap((message) => {
    const at = ++seq;
    const made = reports.get(message)?.length ?? 0;
    seq += made;
    return made > 0 ? [at] : [];
  });
};

export interface ReportDrafts {
  /** The message as it is stored: with the results marked that come from outside. */
  marked(message: Message): Message;
  /** The events that follow a message. */
  after(message: Message): readonly EventDraft[];
  /** The commit that counts the calls. Undefined if there are none. */
  readonly commit?: EventDraft<'state.committed'> | undefined;
}

const markedBy = (outside: Reports['outside'], message: Message): Message =>
  message.role === 'tool' && message.content.some((part) => outside.has(part) && !part.untrusted)
    ? { ...message, content: message.content.map((part) => (outside.has(part) ? { ...part, untrusted: true } : part)) }
    : message;

/** Returns the records of the calls that a loop outside Perdure made and reports only by its messages. */
export const decideReports = (
  state: SessionFold,
  messages: readonly Message[],
  files: ReportedFiles,
  actor: Actor,
  redactor: Redactor,
): ReportDrafts => {
  const { calls: reports, outside } = findReports(state, messages, redactor);
  const calls = [...reports.values()].flat();
  refuseUnknownFiles(files, calls);
  const marked = (message: Message) => markedBy(outside, message);
  const after = (message: Message) => (reports.get(message) ?? []).map((call) => reportDraft(call, actor));
  if (calls.length === 0) return { marked, after };
  const [first] = calls as [ReportedCall];
  const { tool, callId } = first.result;
  const isOneMessage = calls.every(({ said }) => said.message === first.said.message);
  const commit = decideCommit(
    state,
    {
      type: 'commit',
      change: (draft) => applyReports(draft, calls, files),
      by: 'tool',
      derivedFrom: resultSeqs(state, messages, reports).map((seq) => ({ seq, provenance: 'unverified' })),
      ...(calls.length === 1 && { cause: { tool, callId }, inputHash: first.inputHash }),
      ...(isOneMessage && { said: first.said }),
      outputSummary: summaryOf(calls, redactor),
      agents: new Map(),
    },
    actor,
    redactor,
  );
  return { marked, after, commit: commit && { ...commit, actor, turn: 'current' } };
};
