import type { SessionEvent } from '../../schema/event.ts';
import type { Reconciled } from '../ports/tool.ts';
import type { Call } from '../session/events/call-events.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { failedEnd } from '../session/runs/call-end.ts';
import { mayWrite } from '../session-files/run-files.ts';
import { executeCall, openScope, readsTainted, retried } from './execute-call.ts';
import { checked, planFor } from './plan-call.ts';
import { lookAfter, recordEnd, refusedFiles } from './record-end.ts';
import type { RunContext } from './run-context.ts';
import type { ReadyCall } from './run-tool.ts';
import type { CallScope } from './tool-context.ts';

const unknownOutcome =
  'The call was interrupted: the process that ran it is gone, and whether it took effect is not known. Check before you repeat it.';

const notRepeated =
  'The call was interrupted: the process that ran it is gone. It was not run again, because a person must approve it. Ask for it again.';

const recoverOne = async (run: RunContext, fold: SessionFold, callId: string): Promise<void> => {
  const { tool: name, seq, at, attempt } = fold.runningCalls[callId]!;
  const [stored] = await run.scope.store.read(run.writer.key, { after: seq - 1, upTo: seq, limit: 1 });
  const { payload } = decodeEvent(run.writer.key.workspace, stored!) as SessionEvent<'tool.called'>;
  const call: Call = { tool: name, callId, input: payload.input };
  const about = () => ({ durationMs: Math.max(0, run.scope.clock.now() - at) });
  const refusal = () => ({ ...about(), isRefused: true as const });
  const plan = checked(run, call);
  if (plan.do !== 'run' || !fold.openCalls[callId]) {
    return recordEnd(run, call, failedEnd('interrupted', 'Interrupted', unknownOutcome), refusal());
  }
  const refused = plan.call.tool.usesFiles && (await refusedFiles(() => run.files.ready()));
  if (refused) return recordEnd(run, call, refused, refusal());
  const again = async (): Promise<void> => {
    // A bundle, or an earlier definition of the agent, may have begun a call that a person must approve here.
    if ((await planFor(fold, run, call)).do !== 'run') {
      return recordEnd(run, call, failedEnd('interrupted', 'Interrupted', notRepeated), refusal());
    }
    const lost = mayWrite(plan.call.tool) && (await refusedFiles(() => run.files.recover({ tool: name, callId })));
    if (lost) return recordEnd(run, call, lost, refusal());
    const reason = fold.children[callId] ? 'its child may have continued' : 'the process that ran it is gone';
    await run.writer.record(retried(run, plan.call, attempt + 1, reason));
    await executeCall(run, fold, plan.call, attempt + 1);
  };
  if (plan.call.tool.effects !== 'once') return again();
  const own = await openScope(run, fold, plan.call);
  const reconciled: Reconciled =
    'error' in own ? { outcome: 'unknown', message: own.error.message } : await reconcile(run, plan.call, own);
  if (reconciled.outcome === 'not-run') return again();
  if (reconciled.outcome === 'ok' && !('error' in own)) {
    const { keeps, artifacts } = own;
    const end = { outcome: 'ok', output: reconciled.output, source: 'reconcile' } as const;
    const readsTaint = await readsTainted(run, plan.call, own);
    return recordEnd(run, call, end, { ...about(), keeps, artifacts, look: await lookAfter(run, call), readsTaint });
  }
  const message =
    'message' in reconciled && reconciled.message ? `${unknownOutcome} ${reconciled.message}` : unknownOutcome;
  const end = failedEnd('interrupted', 'Interrupted', message);
  return recordEnd(run, call, end, { ...about(), look: await lookAfter(run, call) });
};

const reconcile = async ({ signal }: RunContext, { tool, value }: ReadyCall, own: CallScope): Promise<Reconciled> => {
  if (!tool.reconcile) return { outcome: 'unknown' };
  try {
    return await own.inside(async () => tool.reconcile!(value as never, own.context(1)));
  } catch (error) {
    signal.throwIfAborted();
    return { outcome: 'unknown', message: error instanceof Error ? error.message : String(error) };
  } finally {
    own.end();
  }
};

/**
 * Settles calls whose worker died: repeats a call if that is harmless, calls the tool's `reconcile` if it has one, and
 * otherwise records an unknown outcome.
 */
export const recoverCalls = async (run: RunContext, callIds: readonly string[]): Promise<void> => {
  for (const callId of callIds) await recoverOne(run, await run.writer.fold(), callId);
};
