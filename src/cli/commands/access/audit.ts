import type { AuditEntry } from '../../../schema/audit-entry.ts';
import { AuditPageView } from '../../../schema/views/registry.ts';
import { type Context, defineCommand, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, isoTime } from '../../render/time.ts';
import { printableLine } from '../../terminal/printable.ts';

const columns: readonly Column[] = [
  { title: 'TIME', align: 'right' },
  { title: 'MEMBER' },
  { title: 'VERB' },
  { title: 'OUTCOME' },
  { title: 'KEY', leaves: 1 },
  { title: 'TARGET', flexible: true, leaves: 2 },
];

const tableOf = (entries: readonly AuditEntry[], { out, now }: Context): readonly string[] => {
  const moment = now();
  const time = out.isTerminal ? (when: number) => age(when, moment) : isoTime;
  const rows = entries.map(({ at, member, verb, outcome, key = '', target = '' }) => [
    time(at),
    member,
    verb,
    outcome,
    key,
    printableLine(target),
  ]);
  return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

export const audit = defineCommand({
  name: 'audit',
  summary: 'list who used privileged commands in the workspace, newest first',
  args: [],
  options: {
    limit: text('N', 'at most N; default 50'),
    cursor: text('CURSOR', 'continue from this cursor, given by an earlier --json answer'),
  },
  examples: ['perdure audit', 'perdure audit --limit 1000 --json'],
  needsNoAgents: true,
  json: AuditPageView,
  run: async (context, { options: { limit, cursor } }) => {
    const { audit: log } = await context.runtime();
    const page = await log.list({ limit: parseCount('--limit', limit, 1), cursor });
    await context.answer(page, () => tableOf(page.entries, context));
    if (page.cursor) await context.note(`there are more: ${context.commandText('audit', '--cursor', page.cursor)}`);
    return undefined;
  },
});
