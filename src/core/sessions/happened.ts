import { z } from 'zod';
import { isPerdureError } from '../../schema/error.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { type HappenedAccess, happenedBeyond } from '../engine/happened-calls.ts';
import { newestFold } from '../engine/newest-fold.ts';
import { findPoint, refuseLost } from '../engine/points.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { noneHappened } from '../session/happened.ts';

export interface HappenedOptions {
  /** Returns what a rewind to this point, or a fork from it, would leave behind. */
  readonly after?: Point | undefined;
}

const Options = z.strictObject({ after: Point.optional() } satisfies Record<keyof HappenedOptions, z.ZodType>);

const newestReadable = async ({ folds }: HappenedAccess, key: SessionKey): Promise<SessionFold> => {
  try {
    return await folds.outline(key);
  } catch (error) {
    if (!isPerdureError(error, 'EVENT_DAMAGED')) throw error;
    return folds.lastReadable(key);
  }
};

/** Returns the calls that the session records as left behind, or those that going back would leave behind. */
export const readHappened = async (
  scope: HappenedAccess,
  key: SessionKey,
  options: HappenedOptions = {},
): Promise<HappenedCalls> => {
  const { after } = parseInput('the query', Options, options);
  if (!after) {
    const { calls, more } = (await newestReadable(scope, key)).happened ?? noneHappened;
    return { calls, more };
  }
  const seq = await findPoint(scope, key, after);
  refuseLost(key, seq, (await scope.store.head(key))?.summary.damaged);
  const target = await scope.folds.at(key, seq);
  return (await happenedBeyond(scope, key, await newestFold(scope, key, target), target)).fresh;
};
