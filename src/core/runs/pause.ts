import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { readEvents } from '../engine/events.ts';
import { type CommandSource, execute } from '../engine/execute.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { RunWriter } from '../engine/run-writer.ts';
import { type FollowAccess, keyOf, type LogAccess, type ModelAccess, type WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { lifecycle } from '../session/lifecycle.ts';
import { abandoned } from '../session/runs/partial-answer.ts';

const Options = z.strictObject({
  reason: Text.max(2000).optional(),
  withinMs: z.int().nonnegative().max(86_400_000).optional(),
});
export type PauseOptions = z.input<typeof Options>;

type InterruptAccess = WriteAccess & Pick<ModelAccess, 'previews'>;

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
    askToPause(scope, child, reason, async (fold) => (hasWork(fold) ? { type: 'pause', reason } : undefined)),
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
  await pauseChildren(scope, key, reason);
  return event;
};

const interrupt = async (scope: InterruptAccess, key: SessionKey, reason?: string): Promise<void> => {
  await eachChild(scope, key, (child) => interrupt(scope, child, reason));
  await scope.previews.store(key);
  await new RunWriter(scope, key).claim(async (fold) => {
    if (fold.status !== 'pausing') return undefined;
    const common = { actor: scope.actor, turn: fold.turn, run: fold.run?.id };
    const partial = await readPartialAnswer(scope, key, fold);
    const broken = fold.run?.asked ? [abandoned(fold.run.asked.message, 'stopped', partial, common)] : [];
    return [...broken, { type: 'session.paused', payload: { reason }, ...common }];
  });
};

/**
 * Pauses a session. The run and its subagents pause at their next safe point. If that takes longer than `withinMs`,
 * their workers are fenced.
 */
export const pauseSession = async (
  scope: InterruptAccess & FollowAccess,
  key: SessionKey,
  options: PauseOptions = {},
): Promise<void> => {
  const { reason, withinMs } = parseInput('the pause', Options, options);
  const event = await askToPause(scope, key, reason, { type: 'pause', reason });
  if (event?.type !== 'session.pausing' || withinMs === undefined) return;
  await settled(scope, key, event.seq, scope.clock.timeout(withinMs));
  await interrupt(scope, key, reason);
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
export const resumeSession = (scope: WriteAccess, key: SessionKey): Promise<void> =>
  letGoOn(scope, key, { type: 'resume' });
