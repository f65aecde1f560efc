import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { type Actor, newId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { ToolResultPart } from '../../schema/message.ts';
import type { ChangedFile } from '../../schema/state.ts';
import { treeOf } from '../files/tree.ts';
import { newlyLeftOut } from '../session/context/left-out-text.ts';
import { snapshotDraft } from '../session/decide-files.ts';
import { type Call, endCommit, endFact } from '../session/events/call-events.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { type CallEnd, type ToldEnd, toldEnd } from '../session/runs/call-end.ts';
import { approvalOf } from '../session/runs/next-step.ts';
import { type FoundFiles, type Look, mayWrite } from '../session-files/run-files.ts';
import { agentActor, type RunContext } from './run-context.ts';

const maxChars = 24_000;
const headChars = 12_000;
const tailChars = 6000;

/**
 * Returns the output of a call as the model receives it. A large output is cut to its beginning and its end, with a
 * recall key that names its event.
 */
const shownToModel = (output: Json, seq: number): Json => {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (text.length <= maxChars) return output;
  const left = text.length - headChars - tailChars;
  const note = `[… ${left} of ${text.length} characters left out; recall output:${seq} for all of it …]`;
  return `${text.slice(0, headChars).toWellFormed()}\n${note}\n${text.slice(-tailChars).toWellFormed()}`;
};

/** The comment with which a person approved the call, for the model. */
const approvalComment = (fold: SessionFold, callId: string): string | undefined => {
  const settled = approvalOf(fold, callId)?.settled;
  return settled?.answer === 'approved' && settled.comment
    ? `approved by ${settled.by}: ${settled.comment}`
    : undefined;
};

/** The record of a call that ends before it began: it was refused, or a person answered it. */
const unrunCall = (run: RunContext, { inputKey }: SessionFold, { callId, tool, input }: Call): EventDraft => ({
  type: 'tool.called',
  payload: { callId, tool, input, inputHash: inputHash(inputKey, input), ran: false },
  actor: agentActor(run),
  turn: 'current',
});

interface Remarks {
  readonly problem?: string | undefined;
  readonly comment?: string | undefined;
}

const resultMessage = (call: Call, end: ToldEnd, seq: number, { problem, comment }: Remarks): EventDraft => {
  const text = end.outcome === 'ok' ? shownToModel(end.output, seq) : end.error.message;
  const part: ToolResultPart = {
    type: 'tool-result',
    callId: call.callId,
    tool: call.tool,
    outcome: end.outcome,
    output: problem || comment ? { output: text, ...(problem && { problem }), ...(comment && { comment }) } : text,
  };
  const message = { id: newId('msg'), role: 'tool' as const, content: [part] };
  return { type: 'message.appended', payload: { message }, actor: `tool:${call.tool}` as Actor, turn: 'current' };
};

/** Further information about a call that ended. */
export interface About {
  readonly durationMs: number;
  readonly keeps?: Json | undefined;
  readonly artifacts?: readonly PayloadOf<'artifact.kept'>[] | undefined;
  /** The changes that the call made in the worktree, or why the worktree could not be scanned. */
  readonly look?: Look | { readonly problem: string } | undefined;
  readonly also?: EventDraft | undefined;
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
): { readonly change?: EventDraft | undefined; readonly problem?: string } => {
  const declaration = tools.get(call.tool) ?? {};
  const by = { agents: scope.agents, redactor };
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
  { durationMs, keeps, look, artifacts = [], also }: About,
  found: FoundFiles | undefined,
): readonly EventDraft[] => {
  const actor = `tool:${call.tool}` as Actor;
  const common = { actor, turn: 'current' as const };
  const { change, problem } = commitOf(run, fold, call, ended, found?.files.changes ?? []);
  const leftOut = found && newlyLeftOut(fold.files?.leftOut, found.files.leftOut);
  const lookProblem = look && 'problem' in look ? look.problem : undefined;
  const said = [problem, lookProblem, leftOut].filter(Boolean).join('; ') || undefined;
  const first: readonly EventDraft[] = [
    ...(also ? [also] : []),
    ...(fold.runningCalls[call.callId] ? [] : [unrunCall(run, fold, call)]),
    endFact(fold, call, run.tools.get(call.tool) ?? {}, ended.told, { durationMs, keeps }),
  ];
  const remarks = { problem: said, comment: approvalComment(fold, call.callId) };
  const drafts: readonly EventDraft[] = [
    ...first,
    ...(fold.openCalls[call.callId] ? [resultMessage(call, ended.told, fold.seq + first.length, remarks)] : []),
    ...artifacts.map((payload): EventDraft => ({ type: 'artifact.kept', payload, ...common })),
    ...(found?.conflicts ? [{ type: 'files.conflicted', payload: found.conflicts, ...common } as const] : []),
    ...(found ? [snapshotDraft(fold, found.files, actor)] : []),
    ...(change ? [change] : []),
  ];
  return drafts.map((draft) => ({ ...draft, run: run.run }));
};

/**
 * Writes the outcome, the result message for the model, and the changes to state and files in one append. If a person
 * has already answered the call, no result message is written. A change that cannot be committed is reported, and the
 * rest is kept.
 */
export const recordEnd = async (run: RunContext, call: Call, end: CallEnd, about: About): Promise<void> => {
  const { look } = about;
  const redactor = await run.scope.secrets.redactor();
  const ended: Ended = { end, told: toldEnd(end, redactor), redactor };
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
    return { problem: `its file changes are not recorded yet: ${error.message}` };
  }
};
