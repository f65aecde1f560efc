import type { DiffPlace } from '../core/service/places.ts';
import { SessionId } from '../schema/ids.ts';
import { attemptOfText } from '../schema/place.ts';
import { parsePoint } from './point.ts';
import { wrongCall } from './wrong-call.ts';

const parseBranch = (text: string): SessionId => {
  const parsed = SessionId.safeParse(text);
  if (parsed.success) return parsed.data;
  throw wrongCall(`"${text}" is not a session: ${parsed.error.issues[0]?.message}`);
};

const parseAttempt = (text: string): DiffPlace | undefined => {
  const place = attemptOfText(text);
  if (!place || (place.turn > 0 && place.attempt > 0)) return place;
  throw wrongCall(`"${text}" is no attempt at a turn: turns and attempts are counted from 1`);
};

/** A point, `turn:5#2` for the second attempt at turn 5, `ses_…` for where another branch is now, `ses_…@turn:3` for a point of it. */
export const parsePlace = (text: string): DiffPlace => {
  if (!text.startsWith('ses_')) return parseAttempt(text) ?? parsePoint(text);
  const [branch = '', point, ...rest] = text.split('@');
  if (rest.length > 0) throw wrongCall(`"${text}" names more than one point: write ses_…@turn:3`);
  const session = parseBranch(branch);
  if (point?.includes('#'))
    throw wrongCall(`"${text}": attempts are counted in the session that is asked, write turn:5#2`);
  return point === undefined ? { session } : { session, ...parsePoint(point) };
};
