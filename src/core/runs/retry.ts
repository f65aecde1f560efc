import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import { type Actor, newId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { Attempt } from '../../schema/point.ts';
import { readTurns, type TranscriptEntry } from '../context/transcript.ts';
import { execute } from '../engine/execute.ts';
import { type HappenedAccess, happenedBeyond, type LeftBehind } from '../engine/happened-calls.ts';
import { resolvePoint } from '../engine/points.ts';
import type { CallerAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { shorten } from '../session/context/clip.ts';
import { decodePayload } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { tookEffect } from '../session/happened.ts';
import { cancelledBy, type Rewind } from '../sessions/rewind.ts';
import { type Run, type RunHandleAccess, runHandle } from './runs.ts';

/** A retried turn: its input, and its run if the session's agent answers it. */
export interface Retry<Output = unknown> extends Rewind {
  readonly message: Message;
  /** The number of the new turn, if a loop outside Perdure answers it. */
  readonly turn?: number | undefined;
  readonly run?: Run<Output> | undefined;
  /** The attempt that was left behind, and the new one, as places to compare. The new one exists once its turn begins. */
  readonly attempts: { readonly previous: Attempt; readonly next: Attempt };
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

/** The other members whose words an input brings: its author, and those of the turns that it retries in turn. */
const authorsOf = async (
  { store, actor }: Pick<RunHandleAccess, 'store' | 'actor'>,
  key: SessionKey,
  { seq, actor: author }: TranscriptEntry,
): Promise<readonly Actor[]> => {
  const [stored] = await store.read(key, { after: seq - 1, limit: 1 });
  const { contributors = [] } = decodePayload(stored!, 'message.appended');
  return [...new Set([author, ...contributors])].filter((each) => each !== actor);
};

/** The place of a turn among the attempts, and that of the next attempt. */
const attemptsAround = ({ attempts }: SessionFold, retried: number): Retry['attempts'] => {
  const [first, turns] = Object.entries(attempts).find(([, each]) => each.includes(retried)) ?? [retried, [retried]];
  const turn = Number(first);
  return { previous: { turn, attempt: turns.indexOf(retried) + 1 }, next: { turn, attempt: turns.length + 1 } };
};

/** Rewinds to before a turn and sends its input again, as a new turn that names the turn it retries. */
export const retryTurn = async (
  scope: RunHandleAccess & CallerAccess & HappenedAccess,
  key: SessionKey,
  options: RetryOptions,
): Promise<Retry<Json>> => {
  const { turn, again } = parseInput('the retry', Options, options);
  const head = await scope.folds.outline(key);
  await resolvePoint(scope, key, head, { turn });
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  const asked = (await readTurns(scope, key, { from: turn, to: turn })).find(({ message }) => message.role === 'user');
  if (!start || !asked) throw nothingAsked(key, turn);
  const message = { ...asked.message, id: newId('msg') };
  const target = await scope.folds.at(key, start.seq - 1);
  const authors = await authorsOf(scope, key, asked);
  const contributors = authors.length > 0 ? authors : undefined;
  const run = asked.run === undefined ? undefined : newId('run', scope.clock.now());
  let left: LeftBehind | undefined;
  let attempts: Retry['attempts'] | undefined;
  const written = await execute(scope, key, async (newest) => {
    await resolvePoint(scope, key, newest, { turn });
    left = await happenedBeyond(scope, key, newest, target);
    refuseEffects(turn, left.fresh, again);
    attempts = attemptsAround(newest, turn);
    return { type: 'retry', turn, message, contributors, target, run, from: scope.requester, happened: left.all };
  });
  const last = written.at(-1)!;
  const asks = run ? { run: runHandle(scope, key, { id: run, admittedAt: last.seq }) } : { turn: last.turn };
  return { message, ...asks, attempts: attempts!, cancelled: cancelledBy(written), happened: left!.fresh };
};
