import { isPerdureError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Usage } from '../../schema/run.ts';
import { readEvents } from '../engine/events.ts';
import { execute } from '../engine/execute.ts';
import { type Decide, RunWriter } from '../engine/run-writer.ts';
import { type FollowAccess, keyOf, type WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { endDrafts } from '../session/runs/end-run.ts';
import { addUsage, forsakenChildren, noUsage, usageTold } from '../session/runs/run-fold.ts';
import { runNotFound } from './run-not-found.ts';

const usageOf = async (scope: FollowAccess, key: SessionKey): Promise<Usage> => {
  let usage = noUsage;
  for await (const event of readEvents(scope, key)) usage = addUsage(usage, usageTold(event));
  return usage;
};

/** Closed, so that nothing is asked of it any more that was on the way. */
const endChild = async (scope: WriteAccess & FollowAccess, key: SessionKey): Promise<Usage> => {
  await cancelRuns(scope, key, ({ run, queue }) => [...(run ? [run.id] : []), ...queue.map((input) => input.run)]);
  await execute(scope, key, async ({ status }) =>
    status === 'closed' || status === 'archived'
      ? undefined
      : { type: 'close', reason: 'what it worked for is over', now: scope.clock.now() },
  );
  return usageOf(scope, key);
};

/** Ends those who work for calls that are over. After a crash anywhere the log still names those that are left. */
export const endChildren = async (
  scope: WriteAccess & FollowAccess,
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
  scope: WriteAccess & FollowAccess,
  key: SessionKey,
  which: (fold: SessionFold) => readonly RunId[],
): Promise<void> => {
  const writer = new RunWriter(scope, key);
  const { actor, clock } = scope;
  const claimed = await writer.claim((fold) => {
    const runs = which(fold);
    const end = (run: RunId) => endDrafts(fold, { status: 'cancelled' }, { run, actor, now: clock.now() });
    return runs.length > 0 ? runs.flatMap(end) : undefined;
  });
  const write = (decide: Decide) => (claimed ? writer.decide(decide) : writer.claim(decide));
  await endChildren(scope, key, write).catch((error) => {
    if (!isPerdureError(error, 'FENCED')) throw error; // whoever has the session now ends them first
  });
};

/** Stops it at once: whoever is at work on it is fenced before this returns, and the log is whole. Without a run: the one under way, if any. */
export const cancelRun = async (
  scope: WriteAccess & FollowAccess,
  key: SessionKey,
  wanted?: RunId,
): Promise<RunId | undefined> => {
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
