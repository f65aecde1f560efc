import type { CallFilter } from '../../core/service/commits.ts';
import type { Sessions } from '../../core/service/sessions.ts';
import { type Context, defineCommand, text } from '../command.ts';
import { duration } from '../duration.ts';
import { parseMoment } from '../moment.ts';
import { parseCount } from '../point.ts';
import { printableLine } from '../printable.ts';
import { type Column, layOutTable } from '../table.ts';
import { age, isoTime } from '../time.ts';
import { wrongCall } from '../wrong-call.ts';

type CallRecord = Awaited<ReturnType<Sessions['toolCalls']>>[number];
type CallStatus = CallRecord['status'];

const isCallStatus: Readonly<Record<CallStatus, true>> = {
  running: true,
  ok: true,
  invalid_input: true,
  unknown_tool: true,
  threw: true,
  timeout: true,
  denied: true,
  interrupted: true,
  cancelled: true,
};
const statuses = Object.keys(isCallStatus);

const columns: readonly Column[] = [
  { title: 'SESSION' },
  { title: 'SEQ', align: 'right', leaves: 3 },
  { title: 'TURN', align: 'right' },
  { title: 'TIME', align: 'right', leaves: 2 },
  { title: 'STATUS' },
  { title: 'TOOK', align: 'right', leaves: 4 },
  { title: 'TOOL', flexible: true },
  { title: 'CALL', leaves: 1 },
];

const statusOf = (name: string): CallStatus => {
  if (Object.hasOwn(isCallStatus, name)) return name as CallStatus;
  throw wrongCall(`--status is ${statuses.join(', ')}; got "${name}"`);
};

const cells = (call: CallRecord, time: (at: number) => string): readonly string[] => [
  call.session,
  String(call.seq),
  String(call.turn),
  time(call.at),
  call.status,
  call.durationMs === undefined ? '' : duration(call.durationMs),
  printableLine(call.tool),
  printableLine(call.callId),
];

const tableOf = (calls: readonly CallRecord[], { out, now }: Context, withSession: boolean): readonly string[] => {
  const from = withSession ? 0 : 1;
  const at = now();
  const time = out.isTerminal ? (when: number) => age(when, at) : isoTime;
  const rows = calls.map((call) => cells(call, time).slice(from));
  return layOutTable(columns.slice(from), rows, out.columns, (cell, { title }, row) => {
    if (row < 0) return out.style('dim', cell);
    if (title !== 'STATUS') return cell;
    const { status } = calls[row]!;
    return out.style(status === 'ok' ? 'green' : status === 'running' ? 'yellow' : 'red', cell);
  });
};

export const calls = defineCommand({
  name: 'calls',
  summary: 'list tool calls of a session or of the workspace, newest first',
  args: ['[SESSION]'],
  options: {
    tool: text('TOOL', 'only calls of this tool'),
    status: text('STATUS', `only those that are ${statuses.join(', ')}`),
    last: text('N', 'only the last N turns of the session'),
    since: text('WHEN', 'not before a date, or so long ago: 7d, 24h'),
    limit: text('N', 'at most so many, 1000 without it'),
  },
  examples: ['perdure calls ses_… --last 5', 'perdure calls --status threw --since 24h'],
  run: async (context, { args: [named], options }) => {
    const last = parseCount('--last', options.last, 1);
    if (last !== undefined && named === undefined) throw wrongCall('--last counts turns of one session: name it');
    const filter: CallFilter = {
      tool: options.tool,
      status: options.status === undefined ? undefined : statusOf(options.status),
      since: parseMoment('--since', options.since, context.now()),
      limit: parseCount('--limit', options.limit, 1),
      ...(last !== undefined && { last: { turns: last } }),
    };
    const found = await (named === undefined ? await context.sessions() : await context.session(named)).toolCalls(
      filter,
    );
    await context.answer(found, () =>
      found.length > 0 ? tableOf(found, context, named === undefined) : 'no tool calls match',
    );
  },
});
