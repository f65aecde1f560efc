import { isPerdureError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Usage } from '../../schema/run.ts';
import { readEvents } from '../engine/events.ts';
import { execute } from '../engine/execute.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { type Decide, RunWriter } from '../engine/run-writer.ts';
import { type FollowAccess, keyOf, type ModelAccess, type WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { endDrafts } from '../session/runs/end-run.ts';
import { addUsage, forsakenChildren, noUsage, usageTold } from '../session/runs/run-fold.ts';
import { runNotFound } from './run-not-found.ts';

export type CancelAccess = WriteAccess & FollowAccess & Pick<ModelAccess, 'previews'>;

const usageOf = async (scope: FollowAccess, key: SessionKey): Promise<Usage> => {
  let usage = noUsage;
  for await (const event of readEvents(scope, key)) usage = addUsage(usage, usageTold(event));
  return usage;
};

/** Closes the child, so that no input in flight can start it again. */
const endChild = async (scope: CancelAccess, key: SessionKey): Promise<Usage> => {
  await cancelRuns(scope, key, ({ run, queue }) => [...(run ? [run.id] : []), ...queue.map((input) => input.run)]);
  await execute(scope, key, async ({ status }) =>
    status === 'closed' || status === 'archived'
      ? undefined
      : { type: 'close', reason: 'the call that it worked for has ended', now: scope.clock.now() },
  );
  return usageOf(scope, key);
};

/** Ends the child sessions whose calls have ended. After a crash, the log still names the children that are left. */
export const endChildren = async (
  scope: CancelAccess,
  key: SessionKey,
  write: (decide: Decide) => Promise<unknown>,
): Promise<void> => {
  for (const [callId, { session }] of forsakenChildren(await scope.folds.head(key))) {
    const usage = await endChild(scope, keyOf(scope, session));
    await write(
      ({ children, turn, run }) =>
        children[callId] && [
          { type: 'child.ended', payload: { callId, session, usage }, actor: scope.actor, turn, run: run?.id },
        ],
    );
  }
};

const cancelRuns = async (
  scope: CancelAccess,
  key: SessionKey,
  which: (fold: SessionFold) => readonly RunId[],
): Promise<void> => {
  const writer = new RunWriter(scope, key);
  const { actor, clock } = scope;
  await scope.previews.store(key);
  const claimed = await writer.claim(async (fold) => {
    const runs = which(fold);
    if (runs.length === 0) return undefined;
    const partial = await readPartialAnswer(scope, key, fold);
    const end = (run: RunId) => endDrafts(fold, { status: 'cancelled' }, { run, actor, now: clock.now(), partial });
    return runs.flatMap(end);
  });
  const write = (decide: Decide) => (claimed ? writer.decide(decide) : writer.claim(decide));
  await endChildren(scope, key, write).catch((error) => {
    if (!isPerdureError(error, 'FENCED')) throw error; // the new holder of the session ends them
  });
};

/**
 * Stops a run immediately. When this returns, the worker is fenced and the log is complete. Without `wanted`, stops
 * the run in progress, if any.
 */
export const cancelRun = async (scope: CancelAccess, key: SessionKey, wanted?: RunId): Promise<RunId | undefined> => {
  let cancelled: RunId | undefined;
  await cancelRuns(scope, key, ({ run, queue }) => {
    cancelled = wanted ?? run?.id;
    if (cancelled === undefined) return [];
    if (run?.id !== cancelled && !queue.some((input) => input.run === cancelled)) {
      throw runNotFound(key, cancelled, ' that is queued or under way');
    }
    return [cancelled];
  });
  return cancelled;
};
