import type { RecordWindow } from '../../core/state/record-filter.ts';
import { flag, text, type Values } from './command.ts';
import { parseMoment, parseTurns } from './moment.ts';
import { parseCount } from './point.ts';
import { wrongCall } from './wrong-call.ts';

/** Options shared by queries for commits and for tool calls. */
export const windowOptions = {
  turns: text('A-B', 'only turns from A to B'),
  last: text('N', 'only the last N turns of the session'),
  since: text('WHEN', 'not before a date, or a time ago: 7d, 24h'),
  until: text('WHEN', 'not after a date, or a time ago'),
  'include-rewound': flag('include what rewinds left behind'),
} as const;

const ofOneSession = ['turns', 'last'] as const;

export const parseWindow = (
  options: Values<typeof windowOptions>,
  { now, isOneSession }: { readonly now: number; readonly isOneSession: boolean },
): RecordWindow => {
  const { turns, last, since, until } = options;
  const counted = ofOneSession.find((name) => options[name] !== undefined);
  if (counted && !isOneSession) throw wrongCall(`--${counted} is about one session: name it`);
  if (turns !== undefined && last !== undefined) throw wrongCall('--last counts from the end: leave out --turns');
  const lastTurns = parseCount('--last', last, 1);
  return {
    turns: parseTurns('--turns', turns),
    ...(lastTurns !== undefined && { last: { turns: lastTurns } }),
    since: parseMoment('--since', since, now),
    until: parseMoment('--until', until, now),
    includeRewound: options['include-rewound'],
  };
};
