import type { Context } from '../parse/command.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { mayNameSession } from './find-session.ts';

/** Matches a text that looks like an id. For a malformed id there is a separate error. */
const isLikeId = /^[a-z]{3,4}_/;

/** Refuses a message that was given where a session is expected, and suggests `send --new`. */
export const refuseText = (context: Context, named: string, otherwise: string): void => {
  if (named.trim() === '' || mayNameSession(named) || isLikeId.test(named)) return;
  const next = context.commandText('send', '--new', named);
  throw wrongCall(`"${named}" is not a session: try \`${next}\`, or ${otherwise}`);
};
