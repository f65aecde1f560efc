import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { Holder } from '../../schema/lifecycle.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { RunWriter } from '../engine/run-writer.ts';
import type { ModelAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { abandoned } from '../session/runs/partial-answer.ts';
import { pauseChildren, resumeChildren } from './pause.ts';

const Options = z.strictObject({ to: Holder, reason: Text.max(2000).optional() });

/**
 * Hands the session to a person or back to the agent. The worker is fenced. The run and its subagents wait until the
 * session is handed back.
 */
export const handOver = async (
  scope: WriteAccess & Pick<ModelAccess, 'previews'>,
  key: SessionKey,
  input: z.input<typeof Options>,
): Promise<void> => {
  const { to, reason } = parseInput('the handoff', Options, input);
  const { status, holder } = await scope.folds.head(key);
  if (holder === 'agent' && to === 'human') await pauseChildren(scope, key, reason);
  if (holder === 'human' && to === 'agent' && status !== 'paused') await resumeChildren(scope, key);
  await scope.previews.store(key);
  await new RunWriter(scope, key).claim(async (fold) => {
    if (fold.holder === to) return undefined;
    const partial = await readPartialAnswer(scope, key, fold);
    const common = { actor: scope.actor, turn: fold.turn, run: fold.run?.id };
    const handed = { type: 'session.handed', payload: { to, reason }, ...common } as const;
    const mustWait = to === 'human' && fold.run && !fold.run.waitingFor;
    const broken = fold.run?.asked ? [abandoned(fold.run.asked.message, 'stopped', partial, common)] : [];
    return mustWait
      ? [...broken, { type: 'run.waiting', payload: { for: 'human', reason }, ...common }, handed]
      : [...broken, handed];
  });
};
