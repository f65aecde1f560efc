import type { SessionEvent } from '../../schema/event.ts';
import { type Context, defineCommand, flag, text } from '../command.ts';
import { truncate } from '../display-width.ts';
import { eventGist } from '../event-gist.ts';
import { optionalPoint, parseCount } from '../point.ts';
import { printable, printableJson } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { isoTime, localDay, localTime } from '../time.ts';
import { wrongCall } from '../wrong-call.ts';

const maxGist = 200;
const leastForActor = 70;

/** A terminal gets the time of day, and the day above where a new one begins; a pipe gets the whole of it. */
const eventLine = (event: SessionEvent, { isTerminal, columns, style }: Terminal): string => {
  const { seq, at, turn, type, actor } = event;
  const place = `${String(seq).padStart(5)}  ${isTerminal ? localTime(at) : isoTime(at)}  ${`t${turn}`.padEnd(4)}`;
  const who = columns < leastForActor ? '' : `${printable(actor).padEnd(12)}  `;
  const fixed = `${place}  ${type.padEnd(17)}  ${who}`;
  const gist = truncate(eventGist(event), Math.max(8, Math.min(columns - fixed.length, maxGist)));
  return `${style('dim', place)}  ${type.padEnd(17)}  ${style('dim', who)}${gist}`.trimEnd();
};

const writerOf = ({ out, json }: Context) => {
  let day = '';
  return async (event: SessionEvent): Promise<void> => {
    if (json) return out.write(`${printableJson(event)}\n`);
    const today = localDay(event.at);
    const heading = out.isTerminal && today !== day ? `${out.style('dim', `── ${today} ──`)}\n` : '';
    day = today;
    return out.write(`${heading}${eventLine(event, out)}\n`);
  };
};

export const log = defineCommand({
  name: 'log',
  summary: 'list the events of a session, one per line',
  args: ['SESSION'],
  options: {
    after: text('SEQ', 'only events after this one'),
    limit: text('N', 'at most so many'),
    at: text('POINT', 'up to turn:3 (or just 3), or up to seq:17'),
    follow: flag('go on with new events as they come, until Ctrl-C', 'f'),
  },
  notes: ['With --json every line is one event.'],
  examples: ['perdure log ses_…', 'perdure log ses_… --after 120 --follow', 'perdure log ses_… --json | jq .type'],
  run: async (context, { args, options }) => {
    const after = parseCount('--after', options.after, 0);
    const limit = parseCount('--limit', options.limit, 1) ?? Number.POSITIVE_INFINITY;
    const at = optionalPoint(options.at);
    if (options.follow && at) throw wrongCall('--follow goes on beyond any point: leave out --at');
    const session = await context.session(args[0]!);
    const following = options.follow ? { follow: true, signal: context.interrupted() } : {};
    const write = writerOf(context);
    let left = limit;
    for await (const event of session.events({ after, at, ...following })) {
      await write(event);
      left -= 1;
      if (left <= 0) break;
    }
  },
});
