import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { newId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { readTurns } from '../context/transcript.ts';
import { execute } from '../engine/execute.ts';
import { resolvePoint } from '../engine/points.ts';
import type { CallerAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { cancelledBy, type Rewind } from '../sessions/rewind.ts';
import { type Run, type RunHandleAccess, runHandle } from './runs.ts';

/** A retried turn: its input, and its run if the session's agent answers it. */
export interface Retry<Output = unknown> extends Rewind {
  readonly message: Message;
  /** The number of the new turn, if a loop outside Perdure answers it. */
  readonly turn?: number | undefined;
  readonly run?: Run<Output> | undefined;
}

const nothingAsked = (key: SessionKey, turn: number): PerdureError =>
  new PerdureError('POINT_NOT_FOUND', `turn ${turn} of ${key.session} has no input to retry`, {
    details: { turn },
  });

const Options = z.strictObject({ turn: z.int().positive() });

/** Rewinds to before a turn and sends its input again, as a new turn that names the turn it retries. */
export const retryTurn = async (
  scope: RunHandleAccess & CallerAccess,
  key: SessionKey,
  options: z.input<typeof Options>,
): Promise<Retry<Json>> => {
  const { turn } = parseInput('the retry', Options, options);
  const head = await scope.folds.outline(key);
  await resolvePoint(scope.store, key, head, { turn });
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  const asked = (await readTurns(scope, key, { from: turn, to: turn })).find(({ message }) => message.role === 'user');
  if (!start || !asked) throw nothingAsked(key, turn);
  const message = { ...asked.message, id: newId('msg') };
  const target = await scope.folds.at(key, start.seq - 1);
  const run = asked.run === undefined ? undefined : newId('run', scope.clock.now());
  const written = await execute(scope, key, async (newest) => {
    await resolvePoint(scope.store, key, newest, { turn });
    return { type: 'retry', turn, message, target, run, from: scope.requester };
  });
  const last = written.at(-1)!;
  const asks = run ? { run: runHandle(scope, key, { id: run, admittedAt: last.seq }) } : { turn: last.turn };
  return { message, ...asks, cancelled: cancelledBy(written) };
};
