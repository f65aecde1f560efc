import type { Damage, LostCall } from '../../../schema/damage.ts';
import type { SessionFold } from '../fold.ts';

/** The maximum number of calls that are named for each loss. */
const maxNamed = 20;

/** A time for the model. A damaged row may hold a time outside the range of dates. */
const timeText = (at: number): string => (at <= 8.64e15 ? new Date(at).toISOString() : String(at));

const callText = ({ tool, status, turn, at }: LostCall): string =>
  `${tool} (${status === 'running' ? 'outcome unknown' : status}, turn ${turn}, ${timeText(at)})`;

const callsText = ({ calls, moreCalls }: Damage): string => {
  const named = calls.slice(0, maxNamed);
  const more = calls.length - named.length + moreCalls;
  if (named.length === 0) return 'No call is known to have been made in it.';
  return `These calls were made in it and are not undone: ${named.map(callText).join('; ')}${more > 0 ? `; and ${more} more` : ''}. Do not repeat them without asking.`;
};

const lossText = (damage: Damage): string => {
  const { session, seq, to, turns } = damage;
  const inTurns = turns ? `, of turns ${turns.from} to ${turns.to}` : '';
  return `This session continues ${session} from before a damaged event. Its events ${seq} to ${to}${inTurns} are lost: you do not see them. ${callsText(damage)}`;
};

/** What the model is told about the lost parts of the sessions that this one continues. */
export const lostText = (lost: SessionFold['lost'] = []): readonly string[] =>
  lost.length === 0 ? [] : ['# Lost in a damaged log', ...lost.map(lossText)];
