import type { CallFilter } from '../../core/service/commits.ts';
import type { Sessions } from '../../core/service/sessions.ts';
import { RunId } from '../../schema/ids.ts';
import { type Context, defineCommand, text } from '../command.ts';
import { duration } from '../duration.ts';
import { parseCount } from '../point.ts';
import { printableLine } from '../printable.ts';
import { parseWindow, windowOptions } from '../record-window.ts';
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

const runOf = (id: string): RunId => {
  const parsed = RunId.safeParse(id);
  if (parsed.success) return parsed.data;
  throw wrongCall(`--run is the id of a run, as --json tells it; got "${id}"`);
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
    actor: text('ACTOR', 'only calls by this actor, such as agent:coder'),
    status: text('STATUS', `only those that are ${statuses.join(', ')}`),
    run: text('RUN', 'only calls of this run'),
    ...windowOptions,
    limit: text('N', 'at most so many, 1000 without it'),
  },
  examples: ['perdure calls ses_… --last 5', 'perdure calls --status threw --since 24h'],
  run: async (context, { args: [named], options }) => {
    const filter: CallFilter = {
      tool: options.tool,
      actor: options.actor,
      status: options.status === undefined ? undefined : statusOf(options.status),
      run: options.run === undefined ? undefined : runOf(options.run),
      ...parseWindow(options, { now: context.now(), isOneSession: named !== undefined }),
      limit: parseCount('--limit', options.limit, 1),
    };
    const found = await (named === undefined ? await context.sessions() : await context.session(named)).toolCalls(
      filter,
    );
    await context.answer(found, () =>
      found.length > 0 ? tableOf(found, context, named === undefined) : 'no tool calls match',
    );
  },
});
