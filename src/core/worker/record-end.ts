import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { type Actor, newId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { ToolResultPart } from '../../schema/message.ts';
import type { ChangedFile } from '../../schema/state.ts';
import { treeOf } from '../files/tree.ts';
import { clip } from '../session/context/clip.ts';
import { newlyLeftOut } from '../session/context/left-out-text.ts';
import { callKey, cutNote } from '../session/context/recall-key.ts';
import { snapshotDraft } from '../session/decide-files.ts';
import { type Call, endCommit, endFact, isFromOutside } from '../session/events/call-events.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { type CallEnd, type FailedEnd, quotaEnd, type ToldEnd, toldEnd } from '../session/runs/call-end.ts';
import { approvalOf } from '../session/runs/next-step.ts';
import { saidFor } from '../session/said-for.ts';
import { type FoundFiles, type Look, mayWrite } from '../session-files/run-files.ts';
import { agentActor, type RunContext } from './run-context.ts';

const maxChars = 24_000;
const headChars = 12_000;
const tailChars = 6000;

/**
 * Returns the output of a call as the model receives it. A large output is cut to its beginning and its end, with the
 * name of the call, by which the whole can be recalled.
 */
const shownToModel = (output: Json, key: string): { readonly shown: Json; readonly cut?: string } => {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (text.length <= maxChars) return { shown: output };
  const note = cutNote(key, text.length - headChars - tailChars, text.length);
  const shown = `${text.slice(0, headChars).toWellFormed()}\n${note}\n${text.slice(-tailChars).toWellFormed()}`;
  return { shown, cut: key };
};

/** The comment with which a person approved the call, for the model. */
const approvalComment = (fold: SessionFold, callId: string): string | undefined => {
  const settled = approvalOf(fold, callId)?.settled;
  return settled?.answer === 'approved' && settled.comment
    ? `approved by ${settled.by}: ${settled.comment}`
    : undefined;
};

/** The record of a call that ends before it began: it was refused, or a person answered it. */
const unrunCall = (run: RunContext, fold: SessionFold, { callId, tool, input }: Call): EventDraft => {
  const said = saidFor(fold, { callId, tool });
  const payload = { callId, tool, input, inputHash: inputHash(fold.inputKey, input), ran: false as const };
  return {
    type: 'tool.called',
    payload: { ...payload, ...(said && { said }) },
    actor: agentActor(run),
    turn: 'current',
  };
};

interface Remarks {
  readonly problem?: string | undefined;
  readonly comment?: string | undefined;
  /** Set if the result comes from outside. */
  readonly untrusted?: true | undefined;
}

const resultMessage = (call: Call, end: ToldEnd, turn: number, remarks: Remarks): EventDraft => {
  const { problem, comment, untrusted } = remarks;
  const { shown, cut } =
    end.outcome === 'ok' ? shownToModel(end.output, callKey(call, turn)) : { shown: end.error.message };
  const part: ToolResultPart = {
    type: 'tool-result',
    callId: call.callId,
    tool: call.tool,
    outcome: end.outcome,
    output: problem || comment ? { output: shown, ...(problem && { problem }), ...(comment && { comment }) } : shown,
    ...(untrusted && { untrusted }),
  };
  const message = { id: newId('msg'), role: 'tool' as const, content: [part] };
  const payload = { message, ...(cut && { cut }) };
  return { type: 'message.appended', payload, actor: `tool:${call.tool}` as Actor, turn: 'current' };
};

interface LookProblem {
  readonly problem: string;
  /** Whether a quota has no room for the changes. */
  readonly isRefused: boolean;
}

/** Further information about a call that ended. */
export interface About {
  readonly durationMs: number;
  readonly keeps?: Json | undefined;
  readonly artifacts?: readonly PayloadOf<'artifact.kept'>[] | undefined;
  /** The changes that the call made in the worktree, or why the worktree could not be scanned. */
  readonly look?: Look | LookProblem | undefined;
  readonly also?: EventDraft | undefined;
  /** Set if the runtime refused the call after it had begun, so that its tool says nothing. */
  readonly isRefused?: true | undefined;
  /** Whether the call read what taints: a file that was written in a tainted context, or a part of that context. */
  readonly readsTaint?: boolean | undefined;
}

interface Ended {
  readonly end: CallEnd;
  readonly told: ToldEnd;
  readonly redactor: Redactor;
}

/**
 * Returns the commit of the call's declared change and its changed files. If the declared change is invalid, commits
 * only the files and returns the problem.
 */
const commitOf = (
  { tools, scope }: RunContext,
  fold: SessionFold,
  call: Call,
  { end, redactor }: Ended,
  changes: readonly ChangedFile[],
  resultSeq: number,
  isOutside: boolean,
): { readonly change?: EventDraft | undefined; readonly problem?: string } => {
  const declaration = tools.get(call.tool) ?? {};
  const by = { agents: scope.agents, redactor, resultSeq, isOutside };
  try {
    return { change: endCommit(fold, call, declaration, end, by, changes) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { problem, ...(changes.length > 0 && { change: endCommit(fold, call, {}, end, by, changes) }) };
  }
};

const endDrafts = (
  run: RunContext,
  fold: SessionFold,
  call: Call,
  ended: Ended,
  { durationMs, keeps, look, artifacts = [], also, readsTaint, isRefused }: About,
  found: FoundFiles | undefined,
): readonly EventDraft[] => {
  const actor = `tool:${call.tool}` as Actor;
  const common = { actor, turn: 'current' as const };
  const isOutside = !isRefused && (readsTaint || isFromOutside(fold, call, ended.told));
  const untrusted = isOutside ? (true as const) : undefined;
  const begun = [...(also ? [also] : []), ...(fold.runningCalls[call.callId] ? [] : [unrunCall(run, fold, call)])];
  const first: readonly EventDraft[] = [
    ...begun,
    endFact(fold, call, run.tools.get(call.tool) ?? {}, ended.told, { durationMs, keeps, untrusted }),
  ];
  const resultSeq = fold.seq + first.length;
  const { change, problem } = commitOf(run, fold, call, ended, found?.files.changes ?? [], resultSeq, isOutside);
  const leftOut = found && newlyLeftOut(fold.files?.leftOut, found.files.leftOut);
  const lookProblem = look && 'problem' in look ? look.problem : undefined;
  const said = [problem, lookProblem, leftOut].filter(Boolean).join('; ') || undefined;
  const remarks = { problem: said, comment: approvalComment(fold, call.callId), untrusted };
  const drafts: readonly EventDraft[] = [
    ...first,
    ...(fold.openCalls[call.callId] ? [resultMessage(call, ended.told, fold.turn, remarks)] : []),
    ...artifacts.map((payload): EventDraft => ({ type: 'artifact.kept', payload, ...common })),
    ...(found?.conflicts ? [{ type: 'files.conflicted', payload: found.conflicts, ...common } as const] : []),
    ...(found ? [snapshotDraft(fold, found.files, actor)] : []),
    ...(change ? [change] : []),
  ];
  return drafts.map((draft) => ({ ...draft, run: run.run }));
};

const maxReturnedChars = 2000;

/**
 * Runs work that records files. Returns the end of the call that needs them if a quota has no room, so that the model
 * learns why and the run goes on.
 */
export const refusedFiles = async (work: () => Promise<void>): Promise<FailedEnd | undefined> => {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!isPerdureError(error, 'QUOTA_EXCEEDED')) throw error;
    return quotaEnd(error.message);
  }
};

/** A call whose files no snapshot holds has failed, although it ran. The model still learns what it returned. */
const withoutFiles = (output: Json, problem: string): FailedEnd => {
  const returned = clip(typeof output === 'string' ? output : JSON.stringify(output), maxReturnedChars);
  return quotaEnd(`the call ran, but ${problem}; it returned: ${returned}`);
};

/**
 * Writes the outcome, the result message for the model, and the changes to state and files in one append. If a person
 * has already answered the call, no result message is written. A change that cannot be committed is reported, and the
 * rest is kept.
 */
export const recordEnd = async (run: RunContext, call: Call, end: CallEnd, about: About): Promise<void> => {
  const { look } = about;
  const redactor = await run.scope.secrets.redactor();
  const told = toldEnd(end, redactor);
  if (told.outcome === 'ok' && look && 'problem' in look && look.isRefused) {
    return recordEnd(run, call, withoutFiles(told.output, look.problem), { ...about, look: undefined });
  }
  const ended: Ended = { end, told, redactor };
  if (!look || 'problem' in look) {
    await run.writer.decide((fold) => endDrafts(run, fold, call, ended, about, undefined));
    return;
  }
  await run.files.landing(look, async (found) => {
    const written = await run.writer.decide((fold) =>
      treeOf(fold) === found.on ? endDrafts(run, fold, call, ended, about, found) : undefined,
    );
    return written.length > 0;
  });
};

/** Scans the worktree after a call that may have written. If the scan fails, the call's outcome is still recorded. */
export const lookAfter = async (run: RunContext, { tool, callId }: Call): Promise<About['look']> => {
  if (!mayWrite(run.tools.get(tool))) return undefined;
  try {
    return await run.files.look({ tool, callId });
  } catch (error) {
    if (!isPerdureError(error) || error.code.startsWith('STORE_')) throw error;
    run.scope.onWarning(error);
    const isRefused = error.code === 'QUOTA_EXCEEDED';
    return { problem: `its file changes are not recorded yet: ${error.message}`, isRefused };
  }
};
