import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { newId, type SessionId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { appendDrafts } from '../engine/append-drafts.ts';
import { type HappenedAccess, happenedBeyond } from '../engine/happened-calls.ts';
import { resolvePoint } from '../engine/points.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { keyOf, type WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { decideFork } from '../session/decide.ts';
import { sound } from '../session/fold.ts';

export interface ForkOptions {
  /** Where the child continues: `{ turn }` for the end of a turn, or `{ seq }`. Default: the head. */
  readonly at?: Point | undefined;
  /** The title of the child. Default: the parent's title. */
  readonly title?: string | undefined;
}

const Options = z.strictObject({ at: Point.optional(), title: Text.max(500).optional() } satisfies Record<
  keyof ForkOptions,
  z.ZodType
>);

/**
 * Creates a child that continues from a point. Past events never change, so no other writer can conflict, and no retry
 * is needed.
 */
export const forkSession = async (
  scope: WriteAccess & HappenedAccess,
  key: SessionKey,
  options: ForkOptions = {},
  /** A replay passes false: its context must be that of the recording. */
  recordsHappened = true,
): Promise<SessionId> => {
  const { at, title } = parseInput('the fork', Options, options);
  const head = await scope.folds.outline(key);
  const seq = await resolvePoint(scope.store, key, head, at);
  const counted = await scope.folds.countedAt(key, seq);
  const point = sound(counted.state);
  const child = keyOf(scope, newId('ses', scope.clock.now()));
  const partial = await readPartialAnswer(scope, key, point);
  const left = recordsHappened ? await happenedBeyond(scope, key, head, point, point.happened) : undefined;
  const drafts = decideFork(point, scope.actor, title, { partial, happened: left?.all });
  const written = await appendDrafts(scope, child, drafts, {
    writer: { kind: 'outside' },
    creates: { parent: { session: point.session, seq } },
  });
  if (!('events' in written)) {
    const { outcome } = written.outcome;
    throw new PerdureError('CONFLICT', `the fork failed (${outcome}): try again`, {
      details: { session: key.session, outcome },
    });
  }
  scope.folds.seed(child, counted, written);
  return child.session;
};
