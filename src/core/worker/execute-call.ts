import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { clip } from '../session/context/clip.ts';
import type { SessionFold } from '../session/fold.ts';
import { failedEnd } from '../session/runs/call-end.ts';
import { lookAfter, recordEnd, refusedFiles } from './record-end.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { inToolSpan } from './run-spans.ts';
import { type ReadyCall, runTool } from './run-tool.ts';
import { readsTaintedFiles, recallsTaint } from './tainted-reads.ts';
import { CallScope } from './tool-context.ts';

export const retried = (run: RunContext, { tool, callId }: ReadyCall, attempt: number, reason: string): EventDraft => ({
  type: 'tool.retried',
  payload: { callId, tool: tool.name, attempt, reason },
  actor: agentActor(run),
  turn: 'current',
  run: run.run,
});

/**
 * Opens the context of a call. If a secret that the tool needs is missing, the call fails without running the tool.
 */
export const openScope = async (
  run: RunContext,
  fold: SessionFold,
  call: ReadyCall,
): Promise<CallScope | ReturnType<typeof failedEnd>> => {
  try {
    return await CallScope.open(run, fold, call);
  } catch (error) {
    if (isPerdureError(error, 'SECRET_NOT_FOUND')) return failedEnd('threw', 'SecretNotFound', error.message);
    throw error;
  }
};

/** Whether a call that ran may have read what was written or said in a tainted context. */
export const readsTainted = async (run: RunContext, call: ReadyCall, own: CallScope): Promise<boolean> => {
  const fold = await run.writer.fold();
  return (own.hasRecalled && recallsTaint(fold)) || readsTaintedFiles(run, fold, call);
};

const refusal = { durationMs: 0, isRefused: true } as const;

/** Runs a journaled call and records how it ended, unless it waits for a child. */
export const executeCall = async (
  run: RunContext,
  fold: SessionFold,
  call: ReadyCall,
  attempt: number,
): Promise<void> => {
  const { writer, signal } = run;
  const { tool, callId, input } = call;
  const refused = tool.usesFiles && (await refusedFiles(() => run.files.ready()));
  if (refused) return recordEnd(run, { tool: tool.name, callId, input }, refused, refusal);
  const startedAt = run.scope.clock.elapsed();
  const own = await openScope(run, fold, call);
  if ('error' in own) return recordEnd(run, { tool: tool.name, callId, input }, own, refusal);
  const again = async (next: number, reason: string) => {
    const redactor = await run.scope.secrets.redactor();
    await writer.record(retried(run, call, next, clip(redactor.text(reason), 2000)));
  };
  const end = await inToolSpan(run, call, () => runTool(run.scope.clock, call, own, attempt, again));
  own.end();
  // A worker that has lost the session must not record an outcome.
  signal.throwIfAborted();
  if (!end) return;
  const durationMs = Math.round((run.scope.clock.elapsed() - startedAt) * 1000) / 1000;
  const ended = { tool: tool.name, callId, input };
  const look = await lookAfter(run, ended);
  const { keeps, artifacts } = own;
  const readsTaint = await readsTainted(run, call, own);
  await recordEnd(run, ended, end, { durationMs, keeps, artifacts, look, readsTaint });
};
