import { PerdureError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { FollowAccess, LogAccess, WorkerAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { listWorkers } from './list-workers.ts';

/** Returns the session's agent if the only reason why the run has not begun is that no worker has this agent. */
const lackedAgent = async (
  scope: LogAccess & WorkerAccess,
  key: SessionKey,
  run: RunId,
): Promise<string | undefined> => {
  const { queue, run: atWork, agent, status, holder } = await scope.folds.outline(key);
  const input = queue.find((each) => each.run === run);
  if (!agent || !input || input.notBefore !== undefined || atWork) return undefined;
  if (status !== 'active' || holder === 'human') return undefined;
  const held = `${agent.name}@${agent.version}`;
  const workers = await listWorkers(scope);
  return workers.some((each) => each.status === 'working' && each.agents.includes(held)) ? undefined : held;
};

/**
 * Warns the waiting program once if no worker can claim the run. Without the warning, the program would wait forever
 * without notice. Returns a function that cancels the warning.
 */
export const warnWhileUnclaimed = (scope: FollowAccess & WorkerAccess, key: SessionKey, run: RunId): (() => void) => {
  if (scope.caller.key !== undefined) return () => {};
  const tell = async (): Promise<void> => {
    const agent = await lackedAgent(scope, key, run);
    if (!agent || scope.closing.aborted) return;
    const remedy =
      'start one by `await runtime.worker().start()` on a runtime that was opened with the agent, here or in another process';
    scope.onWarning(
      new PerdureError('AGENT_VERSION_UNAVAILABLE', `no worker holds ${agent}, so ${run} has not begun: ${remedy}`, {
        details: { ...key, run, agent },
      }),
    );
  };
  return scope.clock.after(scope.timing.untakenMs, () => void tell().catch((problem) => scope.onWarning(problem)));
};
