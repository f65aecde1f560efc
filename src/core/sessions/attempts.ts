import { z } from 'zod';
import { parseInput } from '../../schema/parse-input.ts';
import { fillPage, maxPageItems, pageFields, partsOfCursor } from '../engine/page.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive } from '../session/live-lineage.ts';

/** An attempt at a retried turn. Its first two fields name it as a point. */
export interface TurnAttempt {
  /** The turn of the first attempt. */
  readonly turn: number;
  /** Counted from 1. */
  readonly attempt: number;
  /** The turn that this attempt is in the log. */
  readonly asTurn: number;
  /** Whether the attempt is on the live lineage, and not left behind. */
  readonly isLive: boolean;
}

export interface AttemptPage {
  /** The attempts at the last retried turn first, those at one turn in order. */
  readonly attempts: readonly TurnAttempt[];
  /** The cursor of the next page, which has the attempts at earlier turns. Absent on the last page. */
  readonly cursor?: string;
}

const Options = z.strictObject({
  /** Only the attempts at this turn, named by the turn of the first attempt. */
  turn: z.int().positive().optional(),
  ...pageFields,
});
export type AttemptsOptions = z.input<typeof Options>;

type Start = readonly [turn: number, attempt: number];

const startOf = (cursor: string): Start => {
  const [turn, attempt] = partsOfCursor(cursor, /^(\d{1,15})\.(\d{1,15})$/);
  return [Number(turn), Number(attempt)];
};

async function* attemptsAfter(
  { store }: LogAccess,
  key: SessionKey,
  { attempts, live }: SessionFold,
  { turn: only, start }: { readonly turn: number | undefined; readonly start: Start | undefined },
): AsyncGenerator<TurnAttempt, void, void> {
  const turns = Object.keys(attempts).map(Number);
  for (const turn of turns.sort((a, b) => b - a)) {
    if ((only !== undefined && turn !== only) || (start && turn > start[0])) continue;
    for (const [index, asTurn] of attempts[turn]!.entries()) {
      if (start && turn === start[0] && index < start[1]) continue;
      const [begun] = await store.turnStarts(key, { from: asTurn, limit: 1 });
      yield { turn, attempt: index + 1, asTurn, isLive: begun !== undefined && isLive(live, begun.seq) };
    }
  }
}

/** Returns a page of the attempts at retried turns. */
export const listAttempts = async (
  scope: LogAccess,
  key: SessionKey,
  options: AttemptsOptions = {},
): Promise<AttemptPage> => {
  const { turn, limit = maxPageItems, cursor } = parseInput('the query', Options, options);
  const start = cursor === undefined ? undefined : startOf(cursor);
  const head = await scope.folds.outline(key);
  const { items, isMore } = await fillPage(attemptsAfter(scope, key, head, { turn, start }), limit);
  const last = items.at(-1);
  return { attempts: items, ...(isMore && last && { cursor: `${last.turn}.${last.attempt}` }) };
};
