import type { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Place } from '../../schema/place.ts';
import type { Point } from '../../schema/point.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { findPoint } from './points.ts';
import { keyOf, type LogAccess } from './scope.ts';

/** A point of this session, or another session with its id, now or at one of its points. */
export type DiffPlace = Place;

/** A place, resolved to a session and a seq. */
export interface PlaceRef {
  readonly session: SessionId;
  readonly seq: number;
}

/** A place, with the fold at that place. */
export interface FoundPlace {
  readonly place: PlaceRef;
  readonly fold: SessionFold;
}

export const foldAtPlace = async (scope: LogAccess, key: SessionKey, input: DiffPlace): Promise<FoundPlace> => {
  const place = parseInput('the point', Place, input);
  const { session = key.session, ...point } = place as { session?: SessionId } & Point;
  const there = keyOf(scope, session);
  const seq = await findPoint(scope, there, Object.keys(point).length > 0 ? point : undefined);
  return { place: { session, seq }, fold: await scope.folds.at(there, seq) };
};
