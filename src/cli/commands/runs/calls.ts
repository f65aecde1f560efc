import type { Sessions } from '../../../core/runtime/sessions.ts';
import type { CallPage } from '../../../core/state/commits.ts';
import type { CallFilter } from '../../../core/state/record-filter.ts';
import { RunId } from '../../../schema/ids.ts';
import { CallsView } from '../../../schema/views/session.ts';
import { checkIdPart, findId } from '../../names/find-id.ts';
import { type Context, choice, defineCommand, flag, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { parseWindow, windowOptions } from '../../parse/record-window.ts';
import { noteOlder } from '../../render/note-older.ts';
import { duration } from '../../render/quantity.ts';
import { saidText } from '../../render/said-text.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, ago, isoTime } from '../../render/time.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';

type CallRecord = CallPage['calls'][number];
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
  { title: 'FROM', leaves: 0 },
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
        (await source.toolCalls({})).calls.flatMap(({ run, tool }) => (run ? [{ id: run, about: tool }] : [])),
    },
    named,
  );

/** The tool, and what the agent said when it asked for the call. */
const toolText = ({ tool, said }: CallRecord): string => {
  const quote = saidText(said);
  return `${printableLine(tool)}${quote ? `: ${quote}` : ''}`;
};
/** The width of a quote that can be read, for which other columns are dropped. */
const enoughOfQuote = 40;

const cells = (call: CallRecord, time: (at: number) => string): readonly string[] => [
  call.session,
  String(call.seq),
  String(call.turn),
  time(call.at),
  call.status,
  call.durationMs === undefined ? '' : duration(call.durationMs),
  toolText(call),
  call.source ?? '',
  printableLine(call.callId),
];

const tableOf = (calls: readonly CallRecord[], { out, now }: Context, withSession: boolean): readonly string[] => {
  const at = now();
  const time = out.isTerminal ? (when: number) => age(when, at) : isoTime;
  const isShown = ({ title }: Column): boolean => {
    if (title === 'SESSION') return withSession;
    return title !== 'FROM' || calls.some(({ source }) => source);
  };
  const wants = calls.some(({ said }) => saidText(said)) ? { wants: enoughOfQuote } : {};
  const shown = columns.filter(isShown).map((column) => (column.flexible ? { ...column, ...wants } : column));
  const rows = calls.map((call) => cells(call, time).filter((_, index) => isShown(columns[index]!)));
  return layOutTable(shown, rows, out.columns, (cell, { title }, row) => {
    if (row < 0) return out.style('dim', cell);
    if (title !== 'STATUS') return cell;
    const { status } = calls[row]!;
    return out.style(status === 'ok' ? 'green' : status === 'running' ? 'yellow' : 'red', cell);
  });
};

/** A call with its input and what came out of it, each on one line. */
const detailsOf = (call: CallRecord, { out, now }: Context): readonly string[] => {
  const { session, seq, tool, status, source, at, input, output, error } = call;
  const from = source ? `, from ${source}` : '';
  const quote = saidText(call.said);
  const line = (mark: string, value: string) => hangingIndent(`  ${mark} `, printableLine(value), out.columns);
  return [
    out.style('bold', printableLine(`${session} seq:${seq} ${tool} ${status}${from}, ${ago(at, now())}`)),
    ...(quote ? hangingIndent('  said ', quote, out.columns) : []),
    ...(input === undefined ? [] : line('→', JSON.stringify(input))),
    ...(output === undefined ? [] : line('←', typeof output === 'string' ? output : JSON.stringify(output))),
    ...(error ? line('←', `${error.name}: ${error.message}`) : []),
  ];
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
    input: flag('also show inputs and outputs; long ones are cut'),
    ...windowOptions,
    limit: text('N', 'at most N, up to 1000; default 1000, with --input 100'),
    cursor: text('CURSOR', 'continue with older calls from this cursor, given by an earlier answer'),
  },
  notes: [
    'A call that was refused before it ran is unknown_tool, invalid_input or denied. FROM says where a result came from that the tool did not return itself: reconcile, replay or person.',
    'A quote after the tool is what the agent said when it asked for the call.',
    'If a fork or a rewind cuts a call off in the middle, the call is interrupted in the session that goes on from there.',
    'Calls that a rewind or a retry left behind are not listed. `perdure happened SESSION` lists those with effects.',
  ],
  examples: [
    'perdure calls ses_… --last 5',
    'perdure calls --status threw --since 24h',
    'perdure calls ses_… --status denied --input',
  ],
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
      input: options.input,
      cursor: options.cursor,
    };
    const session = named === undefined ? undefined : await context.session(named);
    const source = session ?? (await context.sessions());
    const run = options.run === undefined ? undefined : await findRun(source, options.run);
    const page = await source.toolCalls({ ...filter, run });
    const found = page.calls;
    const leftBehind =
      session && found.length === 0 && options.cursor === undefined ? (await session.happened()).calls : [];
    const hint = session && leftBehind.length > 0 ? [`left behind, with effects: perdure happened ${session.id}`] : [];
    await context.answer(page, () => {
      if (found.length === 0) return ['no tool calls match', ...hint];
      if (options.input) return found.flatMap((call) => detailsOf(call, context));
      return tableOf(found, context, named === undefined);
    });
    await noteOlder(context, ['calls', named], options, page.cursor);
  },
});
