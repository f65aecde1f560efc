import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import { newId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { readTurns } from '../context/transcript.ts';
import { execute } from '../engine/execute.ts';
import { type HappenedAccess, happenedBeyond, type LeftBehind } from '../engine/happened-calls.ts';
import { resolvePoint } from '../engine/points.ts';
import type { CallerAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { shorten } from '../session/context/clip.ts';
import { tookEffect } from '../session/happened.ts';
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

const Options = z.strictObject({
  turn: z.int().positive(),
  /** Permits the retry of a turn whose calls took effect, or may have. */
  again: z.boolean().optional(),
});

export type RetryOptions = z.input<typeof Options>;

const shownCalls = 5;
const maxDetailed = 20;

const refuseEffects = (turn: number, { calls, more }: HappenedCalls, again: boolean | undefined): void => {
  const effective = again ? [] : calls.filter(tookEffect);
  if (effective.length === 0) return;
  const shown = effective
    .slice(-shownCalls)
    .map(({ tool, input, outcome }) => `${tool} ${shorten(input, 80)} (${outcome})`);
  const others = effective.length + more - shown.length;
  throw new PerdureError(
    'EFFECTS_HAPPENED',
    `turn ${turn} made calls that took effect or may have: ${shown.join(', ')}${others > 0 ? ` and ${others} more` : ''}; a retry may make them a second time: retry with \`again: true\` (\`--again\`) if that is right`,
    { details: { turn, calls: effective.slice(-maxDetailed) } },
  );
};

/** Rewinds to before a turn and sends its input again, as a new turn that names the turn it retries. */
export const retryTurn = async (
  scope: RunHandleAccess & CallerAccess & HappenedAccess,
  key: SessionKey,
  options: RetryOptions,
): Promise<Retry<Json>> => {
  const { turn, again } = parseInput('the retry', Options, options);
  const head = await scope.folds.outline(key);
  await resolvePoint(scope.store, key, head, { turn });
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  const asked = (await readTurns(scope, key, { from: turn, to: turn })).find(({ message }) => message.role === 'user');
  if (!start || !asked) throw nothingAsked(key, turn);
  const message = { ...asked.message, id: newId('msg') };
  const target = await scope.folds.at(key, start.seq - 1);
  const run = asked.run === undefined ? undefined : newId('run', scope.clock.now());
  let left: LeftBehind | undefined;
  const written = await execute(scope, key, async (newest) => {
    await resolvePoint(scope.store, key, newest, { turn });
    left = await happenedBeyond(scope, key, newest, target);
    refuseEffects(turn, left.fresh, again);
    return { type: 'retry', turn, message, target, run, from: scope.requester, happened: left.all };
  });
  const last = written.at(-1)!;
  const asks = run ? { run: runHandle(scope, key, { id: run, admittedAt: last.seq }) } : { turn: last.turn };
  return { message, ...asks, cancelled: cancelledBy(written), happened: left!.fresh };
};
