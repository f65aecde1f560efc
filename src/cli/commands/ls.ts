import type { SessionPage, Sessions } from '../../core/service/sessions.ts';
import { type Status, statuses } from '../../schema/statuses.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { SessionPageView } from '../../schema/views/session.ts';
import { type Context, choice, defineCommand, flag, text } from '../command.ts';
import { paintStatus } from '../paint.ts';
import { parseCount } from '../point.ts';
import { printableLine } from '../printable.ts';
import { type Column, layOutTable } from '../table.ts';
import { age } from '../time.ts';
import { wrongCall } from '../wrong-call.ts';

const columns: readonly Column[] = [
  { title: 'SESSION', shortens: 3 },
  { title: 'STATUS' },
  { title: 'TURNS', align: 'right', leaves: 2 },
  { title: 'MESSAGES', align: 'right', leaves: 1 },
  { title: 'AGE', align: 'right', leaves: 4 },
  { title: 'TITLE', flexible: true, leaves: 5 },
];

const row = ({ id, status, turn, messages, updatedAt, title = '' }: SessionSummary, now: number): readonly string[] => [
  printableLine(id),
  printableLine(status),
  String(turn),
  String(messages),
  age(updatedAt, now),
  printableLine(title),
];

const tableOf = (sessions: readonly SessionSummary[], { out, now }: Context): readonly string[] => {
  const at = now();
  const rows = sessions.map((summary) => row(summary, at));
  return layOutTable(columns, rows, out.columns, (cell, { title }, index) => {
    if (index < 0) return out.style('dim', cell);
    return title === 'STATUS' ? paintStatus(sessions[index]!.status, out, cell) : cell;
  });
};

const listAll = async (sessions: Sessions, status: Status | undefined): Promise<SessionPage> => {
  const all: SessionSummary[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await sessions.list({ limit: 1000, ...(status && { status }), ...(cursor && { cursor }) });
    all.push(...page.sessions);
    if (!page.cursor) return { sessions: all };
    cursor = page.cursor;
  }
};

export const ls = defineCommand({
  name: 'ls',
  summary: 'list sessions, newest change first',
  args: [],
  options: {
    status: choice('STATUS', statuses, `only those that are ${statuses.join(', ')}`),
    limit: text('N', 'at most N; default 50'),
    cursor: text('CURSOR', 'continue from this cursor, given by an earlier --json answer'),
    all: flag('all of them'),
  },
  examples: ['perdure ls', 'perdure ls --status paused', `perdure ls --all --json | jq -r '.sessions[].id'`],
  needsNoAgents: true,
  json: SessionPageView,
  run: async (context, { options }) => {
    const { status } = options;
    const limit = parseCount('--limit', options.limit, 1);
    if (options.all && (limit ?? options.cursor) !== undefined) {
      throw wrongCall('--all lists all sessions: leave out --limit and --cursor');
    }
    const sessions = await context.sessions();
    const page = options.all
      ? await listAll(sessions, status)
      : await sessions.list({
          ...(status && { status }),
          ...(limit !== undefined && { limit }),
          ...(options.cursor !== undefined && { cursor: options.cursor }),
        });
    await context.answer(page, () => {
      if (page.sessions.length > 0) return tableOf(page.sessions, context);
      return status ? `no session is ${status}` : 'no sessions yet: `perdure open` makes one';
    });
    if (page.cursor) await context.note('there are more: `perdure ls --all` lists them');
  },
});
