import type { Replay } from '../../core/worker/replay.ts';
import type { Json } from '../../schema/json.ts';
import { changedValues, valueText } from '../render/entry-text.ts';
import { count } from '../render/quantity.ts';
import { wrap } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Style, Terminal } from '../terminal/terminal.ts';

type Departure = Replay['departures'][number];

type Fields = { readonly [name: string]: Json };

/** Names the fields that differ, and the tool that they belong to. */
const changedFields = (recorded: Fields, replayed: Fields): string => {
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(replayed)])];
  const differs = (name: string): boolean => JSON.stringify(recorded[name]) !== JSON.stringify(replayed[name]);
  const changes = names
    .filter(differs)
    .map((name) => `${name} ${changedValues(recorded[name] ?? null, replayed[name] ?? null).join(' → ')}`);
  const about = recorded.tool && !differs('tool') ? ` ${printableLine(String(recorded.tool))}:` : '';
  return `${about} ${changes.join(', ')}`;
};

const lineOf = ({ what, recorded, replayed }: Departure): readonly [sign: string, style: Style, text: string] => {
  if (recorded === null) return ['+', 'green', `${what} ${valueText(replayed)}`];
  if (replayed === null) return ['-', 'red', `${what} ${valueText(recorded)}`];
  return ['~', 'yellow', `${what}${changedFields(recorded as Fields, replayed as Fields)}`];
};

const linesOf = (departure: Departure, width: number, out: Terminal): readonly string[] => {
  const [sign, style, text] = lineOf(departure);
  const step = String(departure.step).padStart(width);
  return hangingIndent(
    `  ${step} ${sign} `,
    text,
    out.columns,
    `  ${out.style('dim', step)} ${out.style(style, sign)} `,
  );
};

const howFar: Readonly<Record<NonNullable<Replay['upTo']>, string>> = {
  cancelled: ', up to where the recorded run was cancelled',
  'under-way': ', as far as the recorded run has come',
};

/** Describes to people where a replayed turn departs from its recording. */
export const renderReplay = ({ session, departures, upTo }: Replay, out: Terminal): readonly string[] => {
  const where = departures.length === 0 ? 'nowhere' : `in ${count(departures.length, 'place')}`;
  const width = Math.max(...departures.map(({ step }) => String(step).length));
  return [
    ...wrap(`replayed in ${session}`, out.columns).map((line) => out.style('dim', line)),
    ...wrap(`it departs ${where}${upTo ? howFar[upTo] : ''}`, out.columns),
    ...departures.flatMap((each) => linesOf(each, width, out)),
  ];
};
