import { z } from 'zod';
import { eventDefinitions, type SessionEvent } from '../../../schema/event.ts';
import { EventView } from '../../../schema/views/event.ts';
import { CommitView } from '../../../schema/views/session.ts';
import { type Context, defineCommand, flag, text, type Values } from '../../parse/command.ts';
import { asksForCommits, commitOptions } from '../../parse/commit-filter.ts';
import { optionalPoint, parseCount } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { eventGist } from '../../render/event-gist.ts';
import { followCommits } from '../../render/follow-commits.ts';
import { listCommits } from '../../render/list-commits.ts';
import { quoteListed } from '../../render/said-text.ts';
import { isoTime, localDay, localTime } from '../../render/time.ts';
import { truncate } from '../../terminal/display-width.ts';
import { printable, printableJson } from '../../terminal/printable.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const eventOptions = {
  after: text('SEQ', 'only events after this one'),
  limit: text('N', 'at most N'),
  at: text('POINT', 'up to turn:3 (or just 3), seq:17, or turn:5#1 for an attempt'),
  follow: flag('wait for new events or commits and show them, until Ctrl-C', 'f'),
} as const;
const eventsOnly = ['after', 'at'] as const;

const maxGist = 200;
/**
 * Upper bound of characters per column of the terminal: an emoji that is two columns wide can consist of a dozen
 * characters.
 */
const charsOfColumn = 16;
const leastForActor = 70;
const leastForTime = 60;
const typeWidth = Math.max(...Object.keys(eventDefinitions).map(({ length }) => length));
/** Wide enough for the names of the built-in agent and its tools. */
const actorWidth = 14;
/** Wide enough to distinguish all event types. */
const leastForType = 14;
const enoughForGist = 16;

const typeCell = (type: string, room: number): string => {
  if (room >= typeWidth) return type.padEnd(typeWidth);
  const width = Math.max(room, leastForType);
  return truncate(type, width).padEnd(width);
};

/** One event as a line. A terminal shows the time of day, with a heading for each day; a pipe gets the full time. */
const eventLine = (
  event: SessionEvent,
  quote: string | undefined,
  { isTerminal, columns, style }: Terminal,
): string => {
  const { seq, at, turn, type, actor } = event;
  const isNarrow = columns < leastForTime;
  const time = isNarrow ? '' : `${isTerminal ? localTime(at) : isoTime(at)}  `;
  const place = `${String(seq).padStart(isNarrow ? 4 : 5)}  ${time}${`t${turn}`.padEnd(isNarrow ? 3 : 4)}`;
  const actorText = isTerminal ? truncate(printable(actor), actorWidth) : printable(actor);
  const who = columns < leastForActor ? '' : `${actorText.padEnd(actorWidth)}  `;
  const kind = typeCell(type, columns - `${place}    ${who}`.length - enoughForGist);
  const fixed = `${place}  ${kind}  ${who}`;
  const room = isTerminal ? Math.max(8, Math.min(columns - fixed.length, maxGist)) : Number.POSITIVE_INFINITY;
  const text = [eventGist(event, room * charsOfColumn), quote].filter(Boolean).join(': ');
  const gist = truncate(text, room);
  return `${style('dim', place)}  ${kind}  ${style('dim', who)}${gist}`.trimEnd();
};

/** Note on the omitted columns. It is written before the first event, because with --follow there is no last event. */
const leftOutNote = ({ columns, style }: Terminal): string => {
  const left = [...(columns < leastForTime ? ['time'] : []), ...(columns < leastForActor ? ['actor'] : [])];
  return left.length > 0 ? `${style('dim', `left out: ${left.join(', ')}; see --json`)}\n` : '';
};

const writerOf = ({ out, json }: Context) => {
  let day = '';
  let note = leftOutNote(out);
  const quoteOf = quoteListed();
  return async (event: SessionEvent): Promise<void> => {
    if (json) return out.write(`${printableJson(event)}\n`);
    const today = localDay(event.at);
    const heading = out.isTerminal && today !== day ? `${out.style('dim', `── ${today} ──`)}\n` : '';
    day = today;
    const before = note + heading;
    note = '';
    return out.write(`${before}${eventLine(event, quoteOf(event), out)}\n`);
  };
};

const listEvents = async (context: Context, named: string, options: Values<typeof eventOptions>): Promise<void> => {
  const after = parseCount('--after', options.after, 0);
  const limit = parseCount('--limit', options.limit, 1) ?? Number.POSITIVE_INFINITY;
  const at = optionalPoint(options.at);
  if (options.follow && at) throw wrongCall('--follow does not stop at a point: leave out --at');
  const session = await context.session(named);
  const following = options.follow ? { follow: true, signal: context.interrupted() } : {};
  const write = writerOf(context);
  let left = limit;
  for await (const event of session.events({ after, at, ...following })) {
    await write(event);
    left -= 1;
    if (left <= 0) break;
  }
};

export const log = defineCommand({
  name: 'log',
  summary: 'list the events of a session, or commits that match',
  args: ['[SESSION]'],
  options: { ...eventOptions, ...commitOptions },
  notes: [
    'Events come oldest first, commits newest first, but oldest first with --follow. With --json, each line is one of them.',
    'In a PATTERN, * stands for any text within one name, ** at the end for everything below, and ~1 for a slash in a name.',
  ],
  examples: [
    'perdure log ses_… --after 17 --follow  # until Ctrl-C',
    'perdure log ses_… --json | jq .type',
    'perdure log ses_… --follow --provenance unverified  # until Ctrl-C',
    `perdure log ses_… --last 5 --path '/filesModified/**'`,
    'perdure log --all --file src/auth.ts --since 7d',
  ],
  needsNoAgents: true,
  json: z.union([EventView, CommitView]),
  jsonLines: true,
  run: async (context, { args: [session], options }) => {
    if (session === undefined && !options.all) throw wrongCall('log needs SESSION: see `perdure help log`');
    if (!asksForCommits(options)) return void (await listEvents(context, session!, options));
    if (options.follow) return void (await followCommits(context, session!, options));
    const ofEvents = eventsOnly.find((name) => options[name] !== undefined);
    if (ofEvents)
      throw wrongCall(`--${ofEvents} is for events, but the other options ask for commits: leave out one or the other`);
    await listCommits(context, { session, options });
  },
});
