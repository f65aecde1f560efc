import { z } from 'zod';
import type { BlobCount, GcProgress } from '../../core/service/gc.ts';
import type { OldWorktree } from '../../core/service/gc-worktrees.ts';
import { CollectionView } from '../../schema/views/maintenance.ts';
import { defineCommand, flag, text } from '../command.ts';
import { count } from '../count.ts';
import { hanging } from '../hanging.ts';
import { parseDuration } from '../moment.ts';
import { printable } from '../printable.ts';
import { withProgress } from '../progress.ts';

const shown = ({ blobs, bytes }: BlobCount): string => `${count(blobs, 'blob')}, ${count(bytes, 'byte')}`;

type Row = readonly [fate: string, what: string];
const fateWidth = 13;

const worktreeRow = ({ folder, stays }: OldWorktree, gone: string): Row =>
  stays === undefined
    ? [gone, `${printable(folder)}: its session is archived, and the log has all of its files`]
    : ['kept', `${printable(folder)}: ${printable(stays)}`];

export const gc = defineCommand({
  name: 'gc',
  summary: 'remove the content of files that no session names any more, and worktrees of archived sessions',
  args: [],
  options: {
    'dry-run': flag('tell what would go and why; remove nothing'),
    grace: text('TIME', 'keep what was put or asked for within this time; 24h by default'),
  },
  notes: [
    'Safe while sessions are at work, as long as the grace is longer than a snapshot or an import takes until it is in the log.',
    'Where a session names what is missing or damaged, nothing is removed.',
    'A worktree with anything that no snapshot has stays, and is named; what was moved aside of one stays for 30 days.',
  ],
  examples: ['perdure gc --dry-run', 'perdure gc', 'perdure gc --grace 7d'],
  json: CollectionView.extend({ isDryRun: z.boolean() }),
  run: async (context, { options }) => {
    const isDryRun = options['dry-run'] ?? false;
    const grace = options.grace ?? '24h';
    const graceMs = parseDuration('--grace', grace)!;
    const runtime = await context.runtime();
    let progress: GcProgress = { named: 0, looked: 0, removed: 0 };
    const onProgress = (now: GcProgress): void => {
      progress = now;
    };
    const collected = await withProgress(
      context.err,
      () => `${progress.named} named, ${progress.looked} looked at, ${progress.removed} removed`,
      () => runtime.gc({ isDryRun, graceMs, onProgress }),
    );
    const { named, young, garbage, removed, worktrees } = collected;
    const gone = isDryRun ? 'would go' : 'removed';
    const rows: readonly Row[] = [
      [gone, `${shown(isDryRun ? garbage : removed)}: no session names them, and nobody used them for ${grace}`],
      ['kept', `${count(named, 'blob')} that sessions name`],
      ['kept', `${shown(young)}: no session names them yet, and somebody used them within ${grace}`],
      ...worktrees.map((each) => worktreeRow(each, gone)),
    ];
    await context.answer({ isDryRun, ...collected }, () =>
      rows.flatMap(([fate, what]) => hanging(fate.padEnd(fateWidth), what, context.out.columns)),
    );
  },
});
