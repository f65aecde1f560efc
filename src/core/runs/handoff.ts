import { z } from 'zod';
import type { PayloadOf } from '../../schema/event.ts';
import { HandoffTarget } from '../../schema/handoff.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { actingOn } from '../engine/acting-on.ts';
import { RunWriter } from '../engine/run-writer.ts';
import type { RecordAccess } from '../engine/scope.ts';
import type { HeldBy, SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { refuseUnlessHolder } from '../session/holder.ts';
import { afterStop, type StopAccess, settleAfterStop } from './after-stop.ts';
import { pauseChildren, resumeChildren } from './pause.ts';
import { refuseNewHolder } from './refuse-new-holder.ts';

const Options = z.strictObject({ to: HandoffTarget, reason: Text.max(2000).optional() });
export type HandoffOptions = z.input<typeof Options>;

type Holding = Pick<PayloadOf<'session.handed'>, 'to' | 'member' | 'role'>;

const holdingOf = (target: HandoffTarget): Holding =>
  typeof target === 'string' ? { to: target } : { to: 'human', ...target };

const isHeldSo = ({ holder, handoff }: SessionFold, { to, member, role }: Holding): boolean =>
  holder === to && (to === 'agent' || (handoff?.member === member && handoff?.role === role));

const heldBy = ({ holder, handoff }: SessionFold): HeldBy =>
  holder === 'agent' ? { holder } : { holder, member: handoff?.member, role: handoff?.role };

const act = ({ to }: Holding): string => (to === 'agent' ? 'hand it back' : 'hand it on');

/**
 * Hands the session to a person, on to another person, or back to the agent. The worker is fenced. The run and its
 * subagents wait until the session is handed back. The owner may take the session from any holder.
 */
export const handOver = async (
  given: StopAccess & RecordAccess,
  key: SessionKey,
  input: HandoffOptions,
  { replay }: Pick<PayloadOf<'session.handed'>, 'replay'> = {},
): Promise<void> => {
  const { to: target, reason } = parseInput('the handoff', Options, input);
  const holding = holdingOf(target);
  const { to, member } = holding;
  const scope = await actingOn(given, key);
  const { summary } = (await scope.store.head(key))!;
  if (member !== undefined) await refuseNewHolder(scope, summary, member);
  const refuseOthers = (fold: SessionFold): void => {
    if (summary.owner !== scope.caller.member) refuseUnlessHolder(fold, scope.caller, act(holding));
  };
  const seen = await scope.folds.head(key);
  refuseOthers(seen);
  // A repeated call completes what a crash interrupted.
  const stopsChildren = to === 'human' && (seen.holder === 'agent' || isHeldSo(seen, holding));
  if (seen.holder === 'human' && to === 'agent' && seen.status !== 'paused') {
    await afterStop(scope, () => resumeChildren(scope, key));
  }
  const writer = new RunWriter(scope, key);
  await scope.previews.store(key); // before the stop, which fences the worker that has shown it
  const landed = await writer.seize((fold) => {
    refuseOthers(fold);
    if (isHeldSo(fold, holding)) return undefined;
    const payload = { ...holding, reason, replay };
    return {
      drafts: [{ type: 'session.handed', payload, actor: scope.actor, turn: 'current', run: fold.run?.id }],
      // The check above is void if another handoff lands first. It is then made again, for the new holder.
      onlyWhile: { whileHeldBy: heldBy(fold) },
    };
  });
  await settleAfterStop(scope, key, landed && writer);
  if (stopsChildren) await afterStop(scope, () => pauseChildren(scope, key, reason));
};
