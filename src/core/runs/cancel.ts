import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Usage } from '../../schema/run.ts';
import { actingOn } from '../engine/acting-on.ts';
import { readEvents } from '../engine/events.ts';
import { execute } from '../engine/execute.ts';
import { type Decide, RunWriter } from '../engine/run-writer.ts';
import { type FollowAccess, keyOf } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { addUsage, forsakenChildren, noUsage, usageTold } from '../session/runs/run-fold.ts';
import { inheritTaint } from '../session/taint-fold.ts';
import { afterStop, type StopAccess, settleAfterStop } from './after-stop.ts';
import { runNotFound } from './run-not-found.ts';

export type CancelAccess = StopAccess & FollowAccess;

/** Does work on a child as far as its log can be read, because a damaged child must not hold up its parent. */
const asFarAsReadable = async ({ onWarning }: CancelAccess, work: () => Promise<unknown>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!isPerdureError(error, 'EVENT_DAMAGED')) throw error;
    onWarning(error);
  }
};

const usageOf = async (scope: CancelAccess, key: SessionKey): Promise<Usage> => {
  let usage = noUsage;
  await asFarAsReadable(scope, async () => {
    for await (const event of readEvents(scope, key)) usage = addUsage(usage, usageTold(event));
  });
  return usage;
};

const endChild = async (scope: CancelAccess, key: SessionKey): Promise<Usage> => {
  await asFarAsReadable(scope, () => closeChild(scope, key));
  return usageOf(scope, key);
};

/** Closes the child, so that no input in flight can start it again. */
const closeChild = async (scope: CancelAccess, key: SessionKey): Promise<void> => {
  await cancelRuns(scope, key, ({ run, queue }) => [...(run ? [run.id] : []), ...queue.map((input) => input.run)]);
  await execute(scope, key, async ({ status }) =>
    status === 'closed' || status === 'archived'
      ? undefined
      : { type: 'close', reason: 'the call that it worked for has ended', now: scope.clock.now() },
  );
};

/** What the files of a child bring, which its parent may have taken over already. */
const taintOfChild = async (scope: CancelAccess, key: SessionKey): Promise<readonly EventDraft[]> => {
  let taint: readonly EventDraft[] = [];
  await asFarAsReadable(scope, async () => {
    taint = inheritTaint(await scope.folds.head(key), { via: 'subagent', actor: scope.actor, turn: 'current' });
  });
  return taint;
};

/** Ends the child sessions whose calls have ended. After a crash, the log still names the children that are left. */
export const endChildren = async (
  scope: CancelAccess,
  key: SessionKey,
  write: (decide: Decide) => Promise<unknown>,
): Promise<void> => {
  for (const [callId, { session }] of forsakenChildren(await scope.folds.head(key))) {
    const usage = await endChild(scope, keyOf(scope, session));
    const taint = await taintOfChild(scope, keyOf(scope, session));
    await write(
      ({ children, turn, run }) =>
        children[callId] && [
          ...taint,
          { type: 'child.ended', payload: { callId, session, usage }, actor: scope.actor, turn, run: run?.id },
        ],
    );
  }
};

const isUnfinished = ({ run, queue }: SessionFold, id: RunId): boolean =>
  run?.id === id || queue.some((input) => input.run === id);

/**
 * Cancels runs at any head. Returns those that had not ended when the cancel landed. The rest of the work is only
 * attempted, because any other process can do it.
 */
const cancelRuns = async (
  scope: CancelAccess,
  key: SessionKey,
  which: (fold: SessionFold) => readonly RunId[],
): Promise<readonly RunId[]> => {
  const writer = new RunWriter(scope, key);
  const { actor } = scope;
  let runs: readonly RunId[] = [];
  const seize = (chosen: (fold: SessionFold) => readonly RunId[]) =>
    writer.seize((fold) => {
      runs = chosen(fold);
      return {
        drafts: runs.map((run) => ({ type: 'cancel.requested', payload: {}, actor, turn: 'current', run })),
        isApart: runs.every((run) => run !== fold.run?.id),
      };
    });
  await scope.previews.store(key); // before the stop, which fences the worker that has shown it
  const landed = await seize(which);
  const asked = landed ? runs : [];
  // Facts that other writers append later do not count. If the store fails here, the cancel is in the log all the same.
  const at = landed && (await scope.folds.at(key, landed.at(-1)!.seq).catch(() => undefined));
  // A queued run that began before the cancel landed has a worker, which must be fenced.
  if (at?.run?.stop && !writer.fence) {
    await afterStop(scope, () => seize(({ run }) => (run?.stop && asked.includes(run.id) ? [run.id] : [])));
  }
  await settleAfterStop(scope, key, writer);
  if (writer.fence || !landed) {
    const write = (decide: Decide) => (writer.fence ? writer.decide(decide) : writer.claim(decide));
    await afterStop(scope, () => endChildren(scope, key, write));
  }
  return at ? asked.filter((run) => isUnfinished(at, run)) : asked;
};

/**
 * Stops a run immediately. When this returns, the worker is fenced, and the log is complete unless the store failed
 * meanwhile. Without `wanted`, stops the run in progress, if any.
 */
export const cancelRun = async (given: CancelAccess, key: SessionKey, wanted?: RunId): Promise<RunId | undefined> => {
  const scope = await actingOn(given, key);
  for (;;) {
    let asked: RunId | undefined;
    const [cancelled] = await cancelRuns(scope, key, (fold) => {
      asked = wanted ?? fold.run?.id;
      return asked !== undefined && isUnfinished(fold, asked) ? [asked] : [];
    });
    if (cancelled || asked === undefined) return cancelled;
    if (wanted) throw runNotFound(key, wanted, ' that is queued or under way');
    // The run ended by itself just before. Another one may be in progress now.
  }
};
