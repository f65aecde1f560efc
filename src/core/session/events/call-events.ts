import type { EventDraft } from '../../../schema/event.ts';
import type { Actor } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import type { ToolOutcome } from '../../../schema/message.ts';
import type { ChangedFile, State } from '../../../schema/state.ts';
import type { Effects, RepeatPolicy } from '../../ports/tool.ts';
import type { Agent } from '../agent.ts';
import { clip, shorten } from '../context/clip.ts';
import { decideCommit } from '../decide-commit.ts';
import type { SessionFold } from '../fold.ts';
import type { Redactor } from '../redaction/redact.ts';
import { type CallEnd, type ToldEnd, toldEnd } from '../runs/call-end.ts';
import { applyFileChanges } from '../state/file-entries.ts';
import type { StateDraft } from '../state/state-change.ts';
import { storable } from './as-json.ts';
import { inputHash, outputHash } from './input-hash.ts';

/** Declares what a tool changes in the state. All fields are optional. */
export interface ToolDeclaration<Input = never, Output = never> {
  /** Whether the tool is trusted, so that its output has the provenance `verified`. */
  readonly trusted?: boolean;
  /** Whether the tool reads the outside world, so that its results taint the session. By default its name tells. */
  readonly untrusted?: boolean;
  /**
   * For the effects `once`: whether a call may begin although the session is tainted. Otherwise it fails with
   * CALL_TAINTED before the tool runs.
   */
  readonly safeWhenTainted?: boolean;
  /** What running a call twice would do. By default `once`: it can do harm. */
  readonly effects?: Effects;
  /**
   * For the effects `once`: with `ask` (the default) and `deny`, a call that repeats an earlier one outside the live
   * lineage fails with CALL_REPEATED before the tool runs. No person can be asked in a loop outside Perdure.
   */
  readonly repeat?: RepeatPolicy;
  /** The files that a call changed, by path. */
  readonly files?: (input: Input, output: Output) => Readonly<Record<string, State['filesModified'][string]['change']>>;
  /** The decisions that were made by a call, by id. */
  readonly decisions?: (input: Input, output: Output) => Readonly<Record<string, State['decisions'][string]>>;
  /** Applies any other change to the state. */
  readonly change?: (draft: StateDraft, input: Input, output: Output) => void;
  /** Describes the output in one line for people. */
  readonly summarize?: (output: Output, input: Input) => string;
}

export type ToolDeclarations = Readonly<Record<string, ToolDeclaration | undefined>>;

const maxSummaryChars = 500;

const summaryOf = (output: Json): string =>
  shorten(typeof output === 'string' ? output : JSON.stringify(output), maxSummaryChars);

export interface Call {
  readonly tool: string;
  readonly callId: string;
  readonly input: Json;
}

/** Counts a call in the state. The name `__proto__` cannot be a key of the state. */
export const countUse = (draft: StateDraft, tool: string, isOk: boolean): void => {
  if (tool === '__proto__') return;
  const used = Object.hasOwn(draft.toolsUsed, tool) ? draft.toolsUsed[tool]! : { calls: 0, ok: 0, failed: 0 };
  draft.toolsUsed[tool] = { calls: used.calls + 1, ok: used.ok + (isOk ? 1 : 0), failed: used.failed + (isOk ? 0 : 1) };
};

/** Records a call in the state: its counters, the files that the snapshot found changed, and the declared changes. */
const applyUse = (
  draft: StateDraft,
  call: Call,
  declaration: ToolDeclaration,
  ended: CallEnd,
  found: readonly ChangedFile[],
): void => {
  const { tool, callId } = call;
  const isOk = ended.outcome === 'ok';
  countUse(draft, tool, isOk);
  applyFileChanges(draft, found, { tool, callId });
  if (!isOk) return;
  const [input, output] = [call.input as never, ended.output as never];
  for (const [path, change] of Object.entries(declaration.files?.(input, output) ?? {})) {
    draft.filesModified[path] = { change, tool, callId };
  }
  Object.assign(draft.decisions, declaration.decisions?.(input, output));
  declaration.change?.(draft, input, output);
};

interface EndDetails {
  readonly durationMs: number;
  readonly keeps?: Json | undefined;
  /** Set if the result comes from outside. */
  readonly untrusted?: true | undefined;
}

interface CommitDetails {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly redactor: Redactor;
  /** The seq of the event that records the end of the call. By default, the next one. */
  readonly resultSeq?: number | undefined;
  /** Whether the result comes from outside. */
  readonly isOutside?: boolean | undefined;
}

const refusals: ReadonlySet<ToolOutcome> = new Set(['denied', 'invalid_input', 'unknown_tool']);

/** Whether the result of a call comes from outside. The tool did not say anything about a call that was refused. */
export const isFromOutside = (
  { runningCalls }: SessionFold,
  { callId }: Pick<Call, 'callId'>,
  { outcome }: Pick<ToldEnd, 'outcome'>,
): boolean => runningCalls[callId]?.untrusted === true && !refusals.has(outcome);

/** The event that records the end of a call, without its changes to the state. */
export const endFact = (
  fold: SessionFold,
  { tool, callId }: Call,
  { trusted = false }: ToolDeclaration,
  told: ToldEnd,
  { untrusted, ...about }: EndDetails,
): EventDraft => {
  const common = { actor: `tool:${tool}` as Actor, turn: fold.turn };
  if (told.outcome !== 'ok') {
    const { outcome, error, source } = told;
    const payload = { callId, tool, outcome, error, durationMs: about.durationMs, source };
    return { type: 'tool.failed', payload: { ...payload, ...(untrusted && { untrusted }) }, ...common };
  }
  const { output, source } = told;
  const isTrusted = trusted && !untrusted;
  const payload = { callId, tool, output, outputHash: outputHash(output), trusted: isTrusted, ...about, source };
  return { type: 'tool.completed', payload: { ...payload, ...(untrusted && { untrusted }) }, ...common };
};

const summaryOfEnd = ({ summarize }: ToolDeclaration, { input }: Call, ended: CallEnd, redactor: Redactor): string => {
  const summary = ended.outcome === 'ok' ? summarize?.(ended.output as never, input as never) : undefined;
  if (typeof summary === 'string') return redactor.text(summary);
  const told = toldEnd(ended, redactor);
  return told.outcome === 'ok' ? summaryOf(told.output) : `${told.outcome}: ${told.error.message}`;
};

/** Returns the commit with the state changes of a call. Returns undefined if the call changed nothing. */
export const endCommit = (
  fold: SessionFold,
  call: Call,
  declaration: ToolDeclaration,
  ended: CallEnd,
  { agents, redactor, isOutside = false, resultSeq = fold.seq + 1 }: CommitDetails,
  found: readonly ChangedFile[] = [],
): EventDraft | undefined => {
  const { tool, callId } = call;
  const isTrusted = declaration.trusted && !isOutside;
  const isVerified = isTrusted && ended.outcome === 'ok';
  return decideCommit(
    fold,
    {
      type: 'commit',
      change: (draft) => applyUse(draft, call, declaration, ended, found),
      by: 'tool',
      ...(isTrusted && { trusted: true }),
      derivedFrom: [{ seq: resultSeq, provenance: isVerified ? 'verified' : 'unverified' }],
      cause: { tool, callId },
      inputHash: inputHash(fold.inputKey, call.input),
      outputSummary: storable(clip(summaryOfEnd(declaration, call, ended, redactor), 2000)),
      agents,
    },
    `tool:${tool}` as Actor,
    redactor,
  );
};
