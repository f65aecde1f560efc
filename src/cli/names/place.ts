import type { DiffPlace } from '../../core/engine/places.ts';
import type { SessionId } from '../../schema/ids.ts';
import { attemptOfText } from '../../schema/place.ts';
import type { Context } from '../parse/command.ts';
import { parsePoint, pointNamed } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { checkSessionName, mayNameSession } from './find-session.ts';

const parseAttempt = (text: string): DiffPlace | undefined => {
  const place = attemptOfText(text);
  if (!place || (place.turn > 0 && place.attempt > 0)) return place;
  throw wrongCall(`"${text}" is not an attempt at a turn: turns and attempts count from 1`);
};

/**
 * Parses a point, `turn:5#2` for the second attempt at turn 5, `ses_…` for the head of another branch, or
 * `ses_…@turn:3` for a point of it. The session is kept as typed; `placeIn` resolves it.
 */
export const parsePlace = (text: string): DiffPlace => {
  const here = parseAttempt(text) ?? pointNamed(text);
  if (here) return here;
  const [named = '', point, ...rest] = text.split('@');
  if (!mayNameSession(named)) return parsePoint(text);
  if (rest.length > 0) throw wrongCall(`"${text}" names more than one point: write ses_…@turn:3`);
  checkSessionName(named);
  if (point?.includes('#')) throw wrongCall(`"${text}": attempts are only counted in SESSION itself: write turn:5#2`);
  const session = named as SessionId;
  return point === undefined ? { session } : { session, ...parsePoint(point) };
};

export const placeIn = async (context: Pick<Context, 'sessionId'>, place: DiffPlace): Promise<DiffPlace> =>
  'session' in place && place.session !== undefined
    ? { ...place, session: await context.sessionId(place.session) }
    : place;
