import { z } from 'zod';
import type { HappenedCalls } from '../../schema/happened.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { type HappenedAccess, happenedBeyond } from '../engine/happened-calls.ts';
import { resolvePoint } from '../engine/points.ts';
import type { SessionKey } from '../ports/store.ts';
import { noneHappened } from '../session/happened.ts';

export interface HappenedOptions {
  /** Returns what a rewind to this point, or a fork from it, would leave behind. */
  readonly after?: Point | undefined;
}

const Options = z.strictObject({ after: Point.optional() } satisfies Record<keyof HappenedOptions, z.ZodType>);

/** Returns the calls that the session records as left behind, or those that going back would leave behind. */
export const readHappened = async (
  scope: HappenedAccess,
  key: SessionKey,
  options: HappenedOptions = {},
): Promise<HappenedCalls> => {
  const { after } = parseInput('the query', Options, options);
  const head = await scope.folds.outline(key);
  if (!after) {
    const { calls, more } = head.happened ?? noneHappened;
    return { calls, more };
  }
  const target = await scope.folds.at(key, await resolvePoint(scope.store, key, head, after));
  return (await happenedBeyond(scope, key, head, target)).fresh;
};
