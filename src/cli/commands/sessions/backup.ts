import { z } from 'zod';
import { defineCommand } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { printableLine } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';

export const backup = defineCommand({
  name: 'backup',
  summary: 'copy a whole SQLite store into a new file, even while it is in use',
  args: ['FILE'],
  options: {},
  notes: [
    'The copy is a store too, with every workspace and everything acknowledged before the backup began: `perdure verify --all --store sqlite:FILE` checks it.',
    'It does not contain the master key of the vault. For PostgreSQL, use `pg_dump`.',
  ],
  examples: ['perdure backup perdure-backup.db', 'perdure backup another.db --json'],
  needsNoAgents: true,
  backingOptions: ['store', 'config'],
  json: z.strictObject({ file: z.string(), bytes: z.int() }),
  run: async (context, { args }) => {
    const file = args[0]!;
    if (file === '-') throw wrongCall('a backup cannot go to stdout: name a new file');
    const shown = printableLine(file);
    const bytes = await withProgress(
      context.err,
      () => `copying ${printableLine(context.storeName())} to ${shown}`,
      () => context.backUp(file),
    );
    await context.answer({ file, bytes }, () => `${shown}  ${count(bytes, 'byte')}`);
  },
});
