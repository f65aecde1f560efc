import type { Sessions } from '../../../core/runtime/sessions.ts';
import type { CallFilter } from '../../../core/state/record-filter.ts';
import { RunId } from '../../../schema/ids.ts';
import { CallsView } from '../../../schema/views/session.ts';
import { checkIdPart, findId } from '../../names/find-id.ts';
import { type Context, choice, defineCommand, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { parseWindow, windowOptions } from '../../parse/record-window.ts';
import { duration } from '../../render/quantity.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, isoTime } from '../../render/time.ts';
import { printableLine } from '../../terminal/printable.ts';

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
const statuses = Object.keys(isCallStatus) as CallStatus[];

const columns: readonly Column[] = [
  { title: 'SESSION', shortens: 4 },
  { title: 'SEQ', align: 'right', leaves: 3 },
  { title: 'TURN', align: 'right' },
  { title: 'TIME', align: 'right', leaves: 2 },
  { title: 'STATUS' },
  { title: 'TOOK', align: 'right', leaves: 5 },
  { title: 'TOOL', flexible: true },
  { title: 'CALL', leaves: 1 },
];

const runKind = {
  noun: 'run',
  prefix: 'run_',
  isWhole: (text: string): boolean => RunId.safeParse(text).success,
  notFound: 'RUN_NOT_FOUND',
  listing: 'perdure calls --json',
} as const;

/** Finds a run by a prefix or suffix of its id, among the runs of the newest calls. */
const findRun = (source: Pick<Sessions, 'toolCalls'>, named: string): Promise<RunId> =>
  findId(
    {
      ...runKind,
      among: async () =>
        (await source.toolCalls({})).flatMap(({ run, tool }) => (run ? [{ id: run, about: tool }] : [])),
    },
    named,
  );

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
    status: choice('STATUS', statuses, `only those that are ${statuses.join(', ')}`),
    run: text('RUN', 'only calls of this run'),
    ...windowOptions,
    limit: text('N', 'at most N; default 1000'),
  },
  notes: [
    'If a fork or a rewind cuts a call off in the middle, the call is interrupted in the session that goes on from there.',
  ],
  examples: ['perdure calls ses_… --last 5', 'perdure calls --status threw --since 24h'],
  needsNoAgents: true,
  json: CallsView,
  run: async (context, { args: [named], options }) => {
    if (options.run !== undefined) checkIdPart(runKind, options.run);
    const filter: CallFilter = {
      tool: options.tool,
      actor: options.actor,
      status: options.status,
      ...parseWindow(options, { now: context.now(), isOneSession: named !== undefined }),
      limit: parseCount('--limit', options.limit, 1),
    };
    const source = named === undefined ? await context.sessions() : await context.session(named);
    const run = options.run === undefined ? undefined : await findRun(source, options.run);
    const found = await source.toolCalls({ ...filter, run });
    await context.answer({ calls: found }, () =>
      found.length > 0 ? tableOf(found, context, named === undefined) : 'no tool calls match',
    );
  },
});
