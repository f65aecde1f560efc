import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import type { SessionKey } from '../ports/store.ts';
import { RunWriter } from '../run/run-writer.ts';
import { parseInput } from '../session/event-codec.ts';
import { readEvents } from './events.ts';
import { execute } from './execute.ts';
import type { Scope } from './scope.ts';

const Options = z.strictObject({
  reason: Text.max(2000).optional(),
  withinMs: z.int().nonnegative().max(86_400_000).optional(),
});
export type PauseOptions = z.input<typeof Options>;

const settled = async (scope: Scope, key: SessionKey, after: number, signal: AbortSignal): Promise<void> => {
  for await (const { type } of readEvents(scope, key, { after, follow: true, signal })) {
    if (type === 'session.paused' || type === 'session.resumed') return;
  }
};

/** A run comes to rest at its next safe point; when that takes longer than it may, whoever is at work is fenced. */
export const pauseSession = async (scope: Scope, key: SessionKey, options: PauseOptions = {}): Promise<void> => {
  const { reason, withinMs } = parseInput('the pause', Options, options);
  const [event] = await execute(scope, key, { type: 'pause', reason });
  if (event?.type !== 'session.pausing' || withinMs === undefined) return;
  await settled(scope, key, event.seq, AbortSignal.timeout(withinMs));
  await new RunWriter(scope, key).claim((fold) =>
    fold.status === 'pausing'
      ? [{ type: 'session.paused', payload: { reason }, actor: scope.actor, turn: fold.turn, run: fold.run?.id }]
      : undefined,
  );
};
