import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { Holder } from '../../schema/lifecycle.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { RunWriter } from '../engine/run-writer.ts';
import type { WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { pauseChildren, resumeChildren } from './pause.ts';

const Options = z.strictObject({ to: Holder, reason: Text.max(2000).optional() });

/**
 * Hands the session to a person or back to the agent. The worker is fenced. The run and its subagents wait until the
 * session is handed back.
 */
export const handOver = async (scope: WriteAccess, key: SessionKey, input: z.input<typeof Options>): Promise<void> => {
  const { to, reason } = parseInput('the handoff', Options, input);
  const { status, holder } = await scope.folds.head(key);
  if (holder === 'agent' && to === 'human') await pauseChildren(scope, key, reason);
  if (holder === 'human' && to === 'agent' && status !== 'paused') await resumeChildren(scope, key);
  await new RunWriter(scope, key).claim((fold) => {
    if (fold.holder === to) return undefined;
    const common = { actor: scope.actor, turn: fold.turn, run: fold.run?.id };
    const handed = { type: 'session.handed', payload: { to, reason }, ...common } as const;
    const mustWait = to === 'human' && fold.run && !fold.run.waitingFor;
    return mustWait ? [{ type: 'run.waiting', payload: { for: 'human', reason }, ...common }, handed] : [handed];
  });
};
