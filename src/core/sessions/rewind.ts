import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import type { RunId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { execute } from '../engine/execute.ts';
import { type HappenedAccess, happenedBeyond, type LeftBehind } from '../engine/happened-calls.ts';
import { refuseLost, resolvePoint } from '../engine/points.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { despiteDamage, type QuarantineAccess } from '../maintenance/quarantine.ts';
import type { SessionKey } from '../ports/store.ts';

/** The result of a rewind. */
export interface Rewind {
  /** The runs of the waiting inputs that were cancelled, in order. These inputs are not answered. */
  readonly cancelled: readonly RunId[];
  /** The calls with effects beyond the point that the session did not know as left behind. They were not undone. */
  readonly happened: HappenedCalls;
}

const Options = z.strictObject({ to: Point, reason: Text.max(2000).optional() });
export type RewindOptions = z.input<typeof Options>;

/**
 * Returns the runs that a rewind cancelled. A rewind is rejected while a run is in progress, so every run that ends in
 * its append was waiting.
 */
export const cancelledBy = (written: readonly SessionEvent[]): readonly RunId[] =>
  written.flatMap(({ type, run }) => (type === 'run.ended' && run ? [run] : []));

export const rewindSession = async (
  scope: QuarantineAccess & HappenedAccess,
  key: SessionKey,
  options: RewindOptions,
): Promise<Rewind> => {
  const { to, reason } = parseInput('the rewind', Options, options);
  let left: LeftBehind | undefined;
  const written = await despiteDamage(scope, key, () =>
    execute(scope, key, async (head) => {
      const seq = await resolvePoint(scope, key, head, to);
      refuseLost(key, seq, head.quarantine);
      const target = await scope.folds.at(key, seq);
      left = await happenedBeyond(scope, key, head, target);
      const partial = await readPartialAnswer(scope, key, target);
      return { type: 'rewind', target, partial, reason, happened: left.all };
    }),
  );
  return { cancelled: cancelledBy(written), happened: left!.fresh };
};
