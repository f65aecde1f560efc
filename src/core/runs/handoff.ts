import { z } from 'zod';
import type { PayloadOf } from '../../schema/event.ts';
import { HandoffTarget } from '../../schema/handoff.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { refuseUnableHolder } from '../engine/member-standing.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { RunWriter } from '../engine/run-writer.ts';
import type { ModelAccess, RecordAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { refuseUnlessHolder } from '../session/holder.ts';
import { abandoned } from '../session/runs/partial-answer.ts';
import { pauseChildren, resumeChildren } from './pause.ts';

const Options = z.strictObject({ to: HandoffTarget, reason: Text.max(2000).optional() });
export type HandoffOptions = z.input<typeof Options>;

type Holding = Pick<PayloadOf<'session.handed'>, 'to' | 'member' | 'role'>;

const holdingOf = (target: HandoffTarget): Holding =>
  typeof target === 'string' ? { to: target } : { to: 'human', ...target };

const isHeldSo = ({ holder, handoff }: SessionFold, { to, member, role }: Holding): boolean =>
  holder === to && (to === 'agent' || (handoff?.member === member && handoff?.role === role));

const act = ({ to }: Holding): string => (to === 'agent' ? 'hand it back' : 'hand it on');

/**
 * Hands the session to a person, on to another person, or back to the agent. The worker is fenced. The run and its
 * subagents wait until the session is handed back.
 */
export const handOver = async (
  scope: WriteAccess & RecordAccess & Pick<ModelAccess, 'previews'>,
  key: SessionKey,
  input: HandoffOptions,
  { replay }: Pick<PayloadOf<'session.handed'>, 'replay'> = {},
): Promise<void> => {
  const { to: target, reason } = parseInput('the handoff', Options, input);
  const holding = holdingOf(target);
  const { to, member } = holding;
  if (member !== undefined && member !== scope.caller.member) await refuseUnableHolder(scope, member);
  const seen = await scope.folds.head(key);
  refuseUnlessHolder(seen, scope.caller, act(holding));
  if (seen.holder === 'agent' && to === 'human') await pauseChildren(scope, key, reason);
  if (seen.holder === 'human' && to === 'agent' && seen.status !== 'paused') await resumeChildren(scope, key);
  await scope.previews.store(key);
  await new RunWriter(scope, key).claim(async (fold) => {
    refuseUnlessHolder(fold, scope.caller, act(holding));
    if (isHeldSo(fold, holding)) return undefined;
    const partial = await readPartialAnswer(scope, key, fold);
    const common = { actor: scope.actor, turn: fold.turn, run: fold.run?.id };
    const handed = { type: 'session.handed', payload: { ...holding, reason, replay }, ...common } as const;
    const mustWait = to === 'human' && fold.run && !fold.run.waitingFor;
    const broken = fold.run?.asked ? [abandoned(fold.run.asked.message, 'stopped', partial, common)] : [];
    return mustWait
      ? [...broken, { type: 'run.waiting', payload: { for: 'human', reason }, ...common }, handed]
      : [...broken, handed];
  });
};
