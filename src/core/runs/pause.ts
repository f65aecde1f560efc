import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { Text } from '../../schema/json.ts';
import type { Status } from '../../schema/lifecycle.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { actingOn } from '../engine/acting-on.ts';
import { readEvents } from '../engine/events.ts';
import { type CommandSource, execute } from '../engine/execute.ts';
import { RunWriter } from '../engine/run-writer.ts';
import { type FollowAccess, keyOf, type LogAccess, type SightAccess, type WriteAccess } from '../engine/scope.ts';
import { settleStops } from '../engine/settle-stops.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { lifecycle } from '../session/lifecycle.ts';
import { afterStop, type StopAccess, settleAfterStop } from './after-stop.ts';

const Options = z.strictObject({
  reason: Text.max(2000).optional(),
  withinMs: z.int().nonnegative().max(86_400_000).optional(),
});
export type PauseOptions = z.input<typeof Options>;

const settled = async (scope: FollowAccess, key: SessionKey, after: number, signal: AbortSignal): Promise<void> => {
  for await (const { type } of readEvents(scope, key, { after, follow: true, signal })) {
    if (type === 'session.paused' || type === 'session.resumed') return;
  }
};

const eachChild = async (
  scope: LogAccess,
  key: SessionKey,
  work: (child: SessionKey) => Promise<unknown>,
): Promise<void> => {
  const { children } = await scope.folds.head(key);
  for (const { session, isEnded } of Object.values(children)) if (!isEnded) await work(keyOf(scope, session));
};

const hasWork = ({ status, run, queue }: SessionFold): boolean =>
  status === 'open' || (status === 'active' && (run !== undefined || queue.length > 0));

/** Pauses the children at their next safe point, and their children in turn. */
export const pauseChildren = (scope: WriteAccess, key: SessionKey, reason?: string): Promise<void> =>
  eachChild(scope, key, (child) =>
    askToPause(scope, child, reason, async (fold, { isLast }) =>
      hasWork(fold) ? { type: 'pause', reason, isRequest: isLast } : undefined,
    ),
  );

/**
 * Requests a pause of the children first, so that an interrupted request can be repeated. Then pauses children that
 * were opened meanwhile.
 */
const askToPause = async (
  scope: WriteAccess,
  key: SessionKey,
  reason: string | undefined,
  asked: CommandSource,
): Promise<SessionEvent | undefined> => {
  await pauseChildren(scope, key, reason);
  const [event] = await execute(scope, key, asked);
  if (event?.type === 'session.pausing') await settleStops(scope, key); // no run may be at work any more
  await pauseChildren(scope, key, reason);
  return event;
};

const isAtWork = ({ run }: SessionFold): boolean => run !== undefined && !run.waitingFor;

/**
 * Pauses the run and then its subagents now, in one of these statuses, and fences their workers. Returns false if no
 * run was at work. Its subagents are paused all the same, so that a repeated call completes what a crash interrupted.
 */
const interrupt = async (
  scope: StopAccess,
  key: SessionKey,
  whileStatus: readonly Status[],
  reason?: string,
): Promise<boolean> => {
  const writer = new RunWriter(scope, key);
  await scope.previews.store(key); // before the stop, which fences the worker that has shown it
  const landed = await writer.seize((fold) => {
    if (!whileStatus.includes(fold.status) || !isAtWork(fold)) return undefined;
    const { actor } = scope;
    return {
      drafts: [{ type: 'session.paused', payload: { reason }, actor, turn: 'current', run: fold.run?.id }],
      onlyWhile: { whileStatus },
    };
  });
  await settleAfterStop(scope, key, landed && writer);
  await afterStop(scope, async () => {
    await eachChild(scope, key, (child) => interrupt(scope, child, whileStatus, reason));
    await pauseChildren(scope, key, reason); // those that wait
  });
  return landed !== undefined;
};

/**
 * Pauses a session. The run and its subagents pause at their next safe point. If that takes longer than `withinMs`,
 * their workers are fenced.
 */
export const pauseSession = async (
  given: StopAccess & FollowAccess,
  key: SessionKey,
  options: PauseOptions = {},
): Promise<void> => {
  const { reason, withinMs } = parseInput('the pause', Options, options);
  const scope = await actingOn(given, key);
  if (withinMs === 0 && (await interrupt(scope, key, ['active', 'pausing'], reason))) return;
  const event = await askToPause(scope, key, reason, async (_, { isLast }) => ({
    type: 'pause',
    reason,
    isRequest: isLast,
  }));
  if (event?.type !== 'session.pausing' || withinMs === undefined) return;
  if (withinMs > 0) await settled(scope, key, event.seq, scope.clock.timeout(withinMs));
  await interrupt(scope, key, ['pausing'], reason);
};

const letGoOn = async (scope: WriteAccess, key: SessionKey, asked: CommandSource): Promise<void> => {
  const { status, holder } = await scope.folds.head(key);
  if (lifecycle[status].resume && holder === 'agent') await resumeChildren(scope, key);
  await execute(scope, key, asked);
};

export const resumeChildren = (scope: WriteAccess, key: SessionKey): Promise<void> =>
  eachChild(scope, key, (child) =>
    letGoOn(scope, child, async ({ status }) => (lifecycle[status].resume ? { type: 'resume' } : undefined)),
  );

/** Ends the pause of a session. Also resumes its children, unless a person holds the session. */
export const resumeSession = async (scope: WriteAccess & Pick<SightAccess, 'whole'>, key: SessionKey): Promise<void> =>
  letGoOn(await actingOn(scope, key), key, { type: 'resume' });
