import type { Context } from '../parse/command.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { mayNameSession } from './find-session.ts';

/** An id that is too short or of another kind is told as such. */
const isLikeId = /^[a-z]{3,4}_/;

/** Of what stands where a session is named, and is what somebody wants to say. */
export const refuseText = (context: Context, named: string, otherwise: string): void => {
  if (named.trim() === '' || mayNameSession(named) || isLikeId.test(named)) return;
  const next = context.commandText('send', '--new', named);
  throw wrongCall(`"${named}" is not a session: try \`${next}\`, or ${otherwise}`);
};
