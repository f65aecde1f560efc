import { z } from 'zod';
import type { RunPage, RunsOptions, WorkspaceRunPage } from '../../../core/runs/list-runs.ts';
import { awaited } from '../../../schema/run.ts';
import type { RunRecord } from '../../../schema/run-record.ts';
import { runStatuses } from '../../../schema/statuses.ts';
import { RunPageView, WorkspaceRunPageView } from '../../../schema/views/session.ts';
import { nameOf } from '../../config/choose-agent.ts';
import { type Context, choice, defineCommand, text } from '../../parse/command.ts';
import { parseMoment } from '../../parse/moment.ts';
import { parseCount } from '../../parse/point.ts';
import { duration } from '../../render/quantity.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, isoTime } from '../../render/time.ts';
import { amountTexts } from '../../render/usage-text.ts';
import { printableLine } from '../../terminal/printable.ts';
import type { Style } from '../../terminal/terminal.ts';

interface RunColumn extends Column {
  readonly of: (run: RunRecord, time: (at: number) => string) => string;
}

/** Why the run failed, what it waits for, or else what was asked. */
const whyText = ({ error, waitingFor, reason, input = '' }: RunRecord): string => {
  if (error) return `${error.code}: ${error.message}`;
  if (waitingFor) return `waits for ${awaited[waitingFor]}${reason ? `: ${reason}` : ''}`;
  return input;
};

const columns: readonly RunColumn[] = [
  { title: 'RUN', shortens: 6, of: ({ run }) => run },
  { title: 'SESSION', shortens: 6, leaves: 9, of: ({ session }) => session },
  { title: 'STATUS', of: ({ status, rewound }) => (rewound ? `${status}, rewound` : status) },
  { title: 'TRIES', align: 'right', leaves: 5, of: ({ attempts }) => String(attempts) },
  { title: 'AGENT', leaves: 4, of: ({ agent }) => (agent ? nameOf(agent) : '') },
  { title: 'MODEL', leaves: 3, of: ({ model = '' }) => model },
  {
    title: 'TOKENS',
    align: 'right',
    leaves: 7,
    of: ({ usage }) => amountTexts.tokens(usage.inputTokens + usage.outputTokens),
  },
  {
    title: 'USD',
    align: 'right',
    leaves: 6,
    of: ({ usage: { usd } }) => (usd === undefined ? '' : amountTexts.usd(usd)),
  },
  {
    title: 'TOOK',
    align: 'right',
    leaves: 5,
    of: ({ durationMs }) => (durationMs === undefined ? '' : duration(durationMs)),
  },
  { title: 'TIME', align: 'right', leaves: 8, of: ({ admittedAt }, time) => time(admittedAt) },
  { title: 'WORKER', shortens: 2, leaves: 2, of: ({ worker = '' }) => worker },
  { title: 'MACHINE', leaves: 1, of: ({ machine = '' }) => machine },
  {
    title: 'TOOLS',
    leaves: 0,
    of: ({ tools = [], toolsLeftOut = 0 }) =>
      [...tools, ...(toolsLeftOut > 0 ? [`and ${toolsLeftOut} more`] : [])].join(' '),
  },
  { title: 'WHY', flexible: true, of: whyText },
];

const styles: Readonly<Partial<Record<RunRecord['status'], Style>>> = {
  succeeded: 'green',
  failed: 'red',
  waiting: 'yellow',
  paused: 'yellow',
};

const tableOf = (runs: readonly RunRecord[], { out, now }: Context, withSession: boolean): readonly string[] => {
  const at = now();
  const time = out.isTerminal ? (when: number) => age(when, at) : isoTime;
  const shown = columns.filter(({ title }) => withSession || title !== 'SESSION');
  const rows = runs.map((run) => shown.map(({ of }) => printableLine(of(run, time))));
  return layOutTable(shown, rows, out.columns, (cell, { title }, row) => {
    if (row < 0) return out.style('dim', cell);
    const style = title === 'STATUS' ? styles[runs[row]!.status] : undefined;
    return style ? out.style(style, cell) : cell;
  });
};

export const runs = defineCommand({
  name: 'runs',
  summary: 'list runs of a session or of the workspace, newest first: how they went, and what they cost',
  args: ['[SESSION]'],
  options: {
    status: choice('STATUS', runStatuses, `only those that are ${runStatuses.join(', ')}`),
    since: text('WHEN', 'not sent before a date, or a time ago: 7d, 24h'),
    until: text('WHEN', 'not sent after a date, or a time ago'),
    limit: text('N', 'at most N; default 50'),
    cursor: text('CURSOR', 'continue from this cursor, given by an earlier answer'),
  },
  notes: [
    'WHY says why a run failed or what it waits for, and otherwise what was asked. --json has everything: worker, machine, tools on offer, tokens and times.',
    'A fork lists only the runs that it made itself.',
  ],
  examples: ['perdure runs ses_…', 'perdure runs --status failed --since 24h', 'perdure runs --json'],
  needsNoAgents: true,
  json: z.union([RunPageView, WorkspaceRunPageView]),
  run: async (context, { args: [named], options: { status, since, until, limit, cursor } }) => {
    const at = context.now();
    const query: RunsOptions = {
      status,
      since: parseMoment('--since', since, at),
      until: parseMoment('--until', until, at),
      limit: parseCount('--limit', limit, 1),
      cursor,
    };
    const page: RunPage & Partial<WorkspaceRunPage> = await (named === undefined
      ? await context.sessions()
      : await context.session(named)
    ).runs(query);
    await context.answer(page, () =>
      page.runs.length > 0 ? tableOf(page.runs, context, named === undefined) : 'no runs match',
    );
    if (page.damaged && page.damaged.length > 0) {
      const ids = page.damaged.map(printableLine).join(', ');
      await context.note(`not listed, because their logs are damaged: ${ids}; \`perdure verify\` shows how`);
    }
    const filters = Object.entries({ status, since, until, limit }).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const again = ['runs', ...(named === undefined ? [] : [named]), ...filters];
    if (page.cursor) await context.note(`there may be more: ${context.commandText(...again, '--cursor', page.cursor)}`);
  },
});
