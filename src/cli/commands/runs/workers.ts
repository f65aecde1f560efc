import type { WorkerInfo } from '../../../core/runs/list-workers.ts';
import { WorkersView } from '../../../schema/views/worker.ts';
import { type Context, defineCommand } from '../../parse/command.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age } from '../../render/time.ts';
import { wrap } from '../../terminal/display-width.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';

const columns: readonly (Column & { readonly of: (worker: WorkerInfo, at: number) => string })[] = [
  { title: 'WORKER', shortens: 0, of: ({ worker }) => worker },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'BUSY', align: 'right', of: ({ busy, concurrency }) => `${busy}/${concurrency}` },
  { title: 'SEEN', align: 'right', leaves: 1, of: ({ seenAt }, at) => age(seenAt, at) },
  { title: 'UP', align: 'right', leaves: 2, of: ({ startedAt }, at) => age(startedAt, at) },
  { title: 'PROCESS', align: 'right', leaves: 4, of: ({ process = '' }) => String(process) },
  { title: 'MACHINE', leaves: 3, of: ({ machine = '' }) => printableLine(machine) },
  { title: 'AGENTS', flexible: true, leaves: 5, of: ({ agents }) => printableLine(agents.join(', ')) },
];

/** Leaves out empty columns: a server does not reveal where its workers run. */
const tableOf = (workers: readonly WorkerInfo[], { out, now }: Context): readonly string[] => {
  const at = now();
  const shown = columns.filter(({ of }) => workers.some((each) => of(each, at) !== ''));
  const rows = workers.map((each) => shown.map(({ of }) => of(each, at)));
  return layOutTable(shown, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

const linesOf = (workers: readonly WorkerInfo[], context: Context): readonly string[] => {
  if (workers.length === 0)
    return wrap('no worker has been seen lately: `perdure worker` starts one', context.out.columns);
  const held = workers.flatMap(({ worker, holds }) => holds.map((session) => `${session}  ${worker}`));
  return [
    ...tableOf(workers, context),
    ...(held.length > 0
      ? ['', 'working on:', ...held.flatMap((line) => hangingIndent('  ', line, context.out.columns))]
      : []),
  ];
};

export const workers = defineCommand({
  name: 'workers',
  summary: 'list the workers, and what each is working on',
  args: [],
  options: {},
  notes: [
    'BUSY counts sessions of all workspaces, or with a server those of its workspace; the sessions listed below are of this workspace.',
  ],
  examples: ['perdure workers', 'perdure workers --store postgres://…', 'perdure workers --json'],
  json: WorkersView,
  run: async (context) => {
    const found = await (await context.runtime()).workers();
    await context.answer({ workers: found }, () => linesOf(found, context));
    return undefined;
  },
});
