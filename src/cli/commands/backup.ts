import { z } from 'zod';
import { defineCommand } from '../command.ts';
import { count } from '../count.ts';
import { printableLine } from '../printable.ts';
import { withProgress } from '../progress.ts';
import { wrongCall } from '../wrong-call.ts';

export const backup = defineCommand({
  name: 'backup',
  summary: 'copy all of a store on SQLite into a new file, while others work on it',
  args: ['FILE'],
  options: {},
  notes: [
    'The copy is a store, with every workspace and all that was acknowledged before it began: `perdure verify --all --store sqlite:FILE` checks it.',
    'The master key of the vault is not in it. PostgreSQL is backed up by `pg_dump`.',
  ],
  examples: ['perdure backup perdure-backup.db', 'perdure backup another.db --json'],
  needsNoAgents: true,
  backingOptions: ['store', 'config'],
  json: z.strictObject({ file: z.string(), bytes: z.int() }),
  run: async (context, { args }) => {
    const file = args[0]!;
    if (file === '-') throw wrongCall('a backup is made in its place, not on stdout: name a new file');
    const shown = printableLine(file);
    const bytes = await withProgress(
      context.err,
      () => `copying ${printableLine(context.storeName())} to ${shown}`,
      () => context.backUp(file),
    );
    await context.answer({ file, bytes }, () => `${shown}  ${count(bytes, 'byte')}`);
  },
});
