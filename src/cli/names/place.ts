import type { DiffPlace } from '../../core/engine/places.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Context } from '../parse/command.ts';
import { parsePoint, pointNamed } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { checkSessionName, mayNameSession } from './find-session.ts';

/**
 * Parses a point, `turn:5#2` for the second attempt at turn 5, `ses_…` for the head of another branch, or
 * `ses_…@turn:3` for a point of it. The session is kept as typed; `placeIn` resolves it.
 */
export const parsePlace = (text: string): DiffPlace => {
  const here = pointNamed(text);
  if (here) return here;
  const [named = '', point, ...rest] = text.split('@');
  if (!mayNameSession(named)) return parsePoint(text);
  if (rest.length > 0) throw wrongCall(`"${text}" names more than one point: write ses_…@turn:3`);
  checkSessionName(named);
  const session = named as SessionId;
  return point === undefined ? { session } : { session, ...parsePoint(point) };
};

export const placeIn = async (context: Pick<Context, 'sessionId'>, place: DiffPlace): Promise<DiffPlace> =>
  'session' in place && place.session !== undefined
    ? { ...place, session: await context.sessionId(place.session) }
    : place;
