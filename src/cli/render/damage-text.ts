import type { Damage } from '../../schema/damage.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { count } from './quantity.ts';
import { isoTime } from './time.ts';

const range = ({ from, to }: { readonly from: number; readonly to: number }): string =>
  from === to ? String(from) : `${from} to ${to}`;

const eventText = ({ seq, type, turn, at }: Damage['events'][number]): string => {
  const known = [
    type ?? 'row missing or type unknown',
    ...(turn === undefined ? [] : [`turn ${turn}`]),
    ...(at === undefined ? [] : [isoTime(at)]),
  ];
  return `seq:${seq}  ${known.join('  ')}`;
};

const callText = ({ tool, callId, status, turn, seq, at }: Damage['calls'][number]): string =>
  `${printableLine(tool)} ${printableLine(callId)}  ${status}  turn ${turn}  seq:${seq}  ${isoTime(at)}`;

const more = (number: number): readonly string[] => (number > 0 ? [`and ${number} more`] : []);

const lostText = ({ seq, to, missing, turns, times }: Damage): string =>
  [
    `lost: ${seq === to ? `event ${seq}` : `events ${seq} to ${to}`} (${count(to - seq + 1, 'event')}`,
    ...(missing > 0 ? [`, ${missing} without a row`] : []),
    ...(turns ? [`, turn ${range(turns)}`] : []),
    ...(times ? [`, ${isoTime(times.from)} to ${isoTime(times.to)}`] : []),
    ')',
  ].join('');

/** Says what is damaged and what is lost, as lines. */
export const damageLines = (damage: Damage, { columns }: Pick<Terminal, 'columns'>): readonly string[] => {
  const { session, seq, reason, good, events, moreEvents, calls, moreCalls } = damage;
  const items = (texts: readonly string[]) => texts.flatMap((text) => hangingIndent('  ', text, columns));
  const plain = (text: string) => hangingIndent('', text, columns);
  return [
    ...plain(`event ${seq} of ${session} is damaged: ${printableLine(reason)}`),
    ...plain(good > 0 ? `the last good event is ${good}` : 'no event before it is left'),
    ...plain(lostText(damage)),
    ...items([...events.map(eventText), ...more(moreEvents)]),
    ...(calls.length > 0 ? plain('calls that happened in the lost part, as the index of calls knows them:') : []),
    ...items([...calls.map(callText), ...more(moreCalls)]),
  ];
};
