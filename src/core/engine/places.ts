import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { type Attempt, Place } from '../../schema/place.ts';
import type { Point } from '../../schema/point.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { findPoint } from './points.ts';
import { readForward } from './read-log.ts';
import { keyOf, type LogAccess } from './scope.ts';

/** A point of this session, a point of another session with its id, or an attempt at a turn, counted from 1. */
export type DiffPlace = Place;

/** A place, resolved to a session and a seq. */
export interface PlaceRef {
  readonly session: SessionId;
  readonly seq: number;
}

/** The seq of the last event of a turn, even if a rewind left the turn behind. */
const playedTo = async (scope: LogAccess, key: SessionKey, head: SessionFold, turn: number): Promise<number> => {
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  let last = start?.seq ?? 0;
  for await (const { seq, turn: each, type } of readForward(scope.store, key, { after: last, upTo: head.seq })) {
    if (each !== turn || type === 'session.rewound') break;
    last = seq;
  }
  return last;
};

const attemptSeq = async (
  scope: LogAccess,
  key: SessionKey,
  { turn, attempt }: z.infer<typeof Attempt>,
): Promise<number> => {
  const head = await scope.folds.head(key);
  const attempts = head.attempts[turn] ?? (turn <= head.lastTurn ? [turn] : []);
  const played = attempts[attempt - 1];
  if (played !== undefined) return playedTo(scope, key, head, played);
  throw new PerdureError(
    'POINT_NOT_FOUND',
    `turn ${turn} of ${key.session} has no attempt ${attempt}; attempts so far: ${attempts.length}`,
    {
      details: { session: key.session, turn, attempt },
    },
  );
};

/** A place, with the fold at that place. */
export interface FoundPlace {
  readonly place: PlaceRef;
  readonly fold: SessionFold;
}

export const foldAtPlace = async (scope: LogAccess, key: SessionKey, input: DiffPlace): Promise<FoundPlace> => {
  const place = parseInput('the point', Place, input);
  const at = async (there: SessionKey, seq: number) => ({
    place: { session: there.session, seq },
    fold: await scope.folds.at(there, seq),
  });
  if ('attempt' in place) return at(key, await attemptSeq(scope, key, place));
  const { session = key.session, ...point } = place as { session?: SessionId } & Point;
  const there = keyOf(scope, session);
  return at(there, await findPoint(scope, there, Object.keys(point).length > 0 ? point : undefined));
};
