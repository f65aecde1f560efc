import { PerdureError } from '../../schema/error.ts';
import type { RunId, SessionId } from '../../schema/ids.ts';
import type { SessionKey } from '../ports/store.ts';
import { endDrafts } from '../run/end-run.ts';
import { RunWriter } from '../run/run-writer.ts';
import { execute } from './execute.ts';
import { keyOf, type Scope } from './scope.ts';

const runNotFound = (run: RunId): PerdureError =>
  new PerdureError('RUN_NOT_FOUND', `${run} is not a run that is queued or under way in this session`, {
    details: { run },
  });

/** Closed, so that nothing is asked of it any more that was on the way. */
const endChild = async (scope: Scope, key: SessionKey): Promise<void> => {
  await cancelRun(scope, key);
  const { status } = await scope.folds.head(key);
  if (status === 'closed' || status === 'archived') return;
  await execute(scope, key, { type: 'close', reason: 'what it worked for was cancelled', now: scope.clock.now() });
};

/** Stops it at once: whoever is at work on it is fenced before this returns, and the log is whole. Without a run: the one under way, if any. */
export const cancelRun = async (scope: Scope, key: SessionKey, wanted?: RunId): Promise<RunId | undefined> => {
  let cancelled: RunId | undefined;
  let children: readonly SessionId[] = [];
  await new RunWriter(scope, key).claim((fold) => {
    const run = wanted ?? fold.run?.id;
    cancelled = run;
    children = fold.run?.id === run ? Object.values(fold.children) : [];
    if (run === undefined) return undefined;
    if (fold.run?.id !== run && !fold.queue.some((input) => input.run === run)) throw runNotFound(run);
    return endDrafts(fold, { status: 'cancelled' }, { run, actor: scope.actor, now: scope.clock.now() });
  });
  for (const child of children) await endChild(scope, keyOf(scope, child));
  return cancelled;
};
