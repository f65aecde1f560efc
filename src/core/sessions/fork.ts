import { z } from 'zod';
import type { Damage } from '../../schema/damage.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { newId, type SessionId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { appendDrafts } from '../engine/append-drafts.ts';
import { appendRefusal } from '../engine/append-refusal.ts';
import { type HappenedAccess, happenedBeyond } from '../engine/happened-calls.ts';
import { newestFold } from '../engine/newest-fold.ts';
import { ownershipOf } from '../engine/ownership.ts';
import { findPoint, refuseLost } from '../engine/points.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { type FilesAccess, keyOf, type WriteAccess } from '../engine/scope.ts';
import { damageOf } from '../maintenance/describe-damage.ts';
import { pointBefore } from '../maintenance/point-before.ts';
import type { SessionKey } from '../ports/store.ts';
import { decideFork } from '../session/decide.ts';
import { sound } from '../session/fold.ts';

export interface ForkOptions {
  /**
   * Where the child continues: `{ turn }` for the end of a turn, or `{ seq }`. Default: the head, or the last good
   * event if the session is quarantined or its head cannot be read.
   */
  readonly at?: Point | undefined;
  /** The title of the child. Default: the parent's title. */
  readonly title?: string | undefined;
}

const Options = z.strictObject({ at: Point.optional(), title: Text.max(500).optional() } satisfies Record<
  keyof ForkOptions,
  z.ZodType
>);

/** Where a fork continues, and what is lost if that is before a damaged event. */
interface ForkPoint {
  readonly seq: number;
  readonly title?: string | undefined;
  readonly lost?: Damage | undefined;
  /** A replay passes false: its context must be that of the recording. */
  readonly recordsHappened?: boolean;
}

const askedPoint = async (scope: WriteAccess, key: SessionKey, at: Point): Promise<ForkPoint> => {
  const seq = await findPoint(scope, key, at);
  refuseLost(key, seq, (await scope.store.head(key))?.summary.damaged);
  return { seq };
};

/** The head, or the last good event if the session is quarantined or its head cannot be read. */
const newestPoint = async (scope: WriteAccess & FilesAccess, key: SessionKey): Promise<ForkPoint> => {
  let unreadable: unknown;
  try {
    const { seq, quarantine } = await scope.folds.head(key);
    if (!quarantine) return { seq };
  } catch (error) {
    if (!isPerdureError(error, 'EVENT_DAMAGED')) throw error;
    unreadable = error;
  }
  const lost = await damageOf(scope, key);
  if (!lost && unreadable) throw unreadable;
  return { seq: await pointBefore(scope, key, lost), lost };
};

/**
 * Creates a child that continues from a point. Past events never change, so no other writer can conflict, and no retry
 * is needed.
 */
export const forkAt = async (
  scope: WriteAccess & HappenedAccess,
  key: SessionKey,
  { seq, title, lost, recordsHappened = true }: ForkPoint,
): Promise<SessionId> => {
  const counted = await scope.folds.countedAt(key, seq);
  const point = sound(counted.state);
  const child = keyOf(scope, newId('ses', scope.clock.now()));
  const partial = await readPartialAnswer(scope, key, point);
  const left = recordsHappened
    ? await happenedBeyond(scope, key, await newestFold(scope, key, point), point, point.happened)
    : undefined;
  const ownership = ownershipOf(await scope.store.head(key));
  const drafts = decideFork(point, scope.actor, { title, lost, partial, happened: left?.all, ownership });
  const written = await appendDrafts(scope, child, drafts, {
    writer: { kind: 'outside' },
    creates: { parent: { session: point.session, seq } },
  });
  if (!('events' in written)) {
    const { outcome } = written.outcome;
    if (outcome === 'quota') throw appendRefusal(child, written.outcome);
    throw new PerdureError('CONFLICT', `the fork failed (${outcome}): try again`, {
      details: { session: key.session, outcome },
    });
  }
  scope.folds.seed(child, counted, written);
  return child.session;
};

export const forkSession = async (
  scope: WriteAccess & FilesAccess & HappenedAccess,
  key: SessionKey,
  options: ForkOptions = {},
  recordsHappened = true,
): Promise<SessionId> => {
  const { at, title } = parseInput('the fork', Options, options);
  const point = await (at ? askedPoint(scope, key, at) : newestPoint(scope, key));
  return forkAt(scope, key, { ...point, title, recordsHappened });
};
