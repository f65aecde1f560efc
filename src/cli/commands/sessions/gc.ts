import { z } from 'zod';
import type { BlobCount, GcProgress } from '../../../core/maintenance/gc.ts';
import type { OldWorktree } from '../../../core/maintenance/gc-worktrees.ts';
import { CollectionView } from '../../../schema/views/maintenance.ts';
import { defineCommand, flag, text } from '../../parse/command.ts';
import { parseDuration } from '../../parse/moment.ts';
import { count } from '../../render/quantity.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printable } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';

const shown = ({ blobs, bytes }: BlobCount): string => `${count(blobs, 'blob')}, ${count(bytes, 'byte')}`;

type Row = readonly [fate: string, what: string];
const fateWidth = 13;

const worktreeRow = ({ folder, stays }: OldWorktree, gone: string): Row =>
  stays === undefined
    ? [gone, `${printable(folder)}: its session is archived, and the log has all of its files`]
    : ['kept', `${printable(folder)}: ${printable(stays)}`];

export const gc = defineCommand({
  name: 'gc',
  summary: 'remove file content that no session refers to any more, and the worktrees of archived sessions',
  args: [],
  options: {
    'dry-run': flag('show what would go and why; remove nothing'),
    grace: text('TIME', 'keep what was written or read within this time; default 24h'),
  },
  notes: [
    'It is safe while sessions are at work, as long as the grace is longer than a snapshot or an import takes to reach the log.',
    'If a session refers to content that is missing or damaged, nothing is removed.',
    'A worktree with anything that is in no snapshot stays, and is listed; what was moved aside from one stays for 30 days.',
  ],
  examples: ['perdure gc --dry-run', 'perdure gc', 'perdure gc --grace 7d'],
  json: CollectionView.extend({ dryRun: z.boolean() }),
  run: async (context, { options }) => {
    const dryRun = options['dry-run'] ?? false;
    const grace = options.grace ?? '24h';
    const graceMs = parseDuration('--grace', grace)!;
    const runtime = await context.runtime();
    let progress: GcProgress = { named: 0, looked: 0, removed: 0 };
    const onProgress = (now: GcProgress): void => {
      progress = now;
    };
    const collected = await withProgress(
      context.err,
      () => `${progress.named} in use, ${progress.looked} checked, ${progress.removed} removed`,
      () => runtime.gc({ dryRun, graceMs, onProgress }),
    );
    const { named, young, garbage, removed, worktrees } = collected;
    const gone = dryRun ? 'would go' : 'removed';
    const rows: readonly Row[] = [
      [gone, `${shown(dryRun ? garbage : removed)}: no session refers to them, and nobody used them for ${grace}`],
      ['kept', `${count(named, 'blob')} that sessions refer to`],
      ['kept', `${shown(young)}: no session refers to them yet, and somebody used them within ${grace}`],
      ...worktrees.map((each) => worktreeRow(each, gone)),
    ];
    await context.answer({ dryRun, ...collected }, () =>
      rows.flatMap(([fate, what]) => hangingIndent(fate.padEnd(fateWidth), what, context.out.columns)),
    );
  },
});
