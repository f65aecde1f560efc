import { z } from 'zod';
import { ChangedFileView, CommitView } from '../../../schema/views/session.ts';
import { changedFileText } from '../../files/file-text.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { changedEntries } from '../../render/commit-table.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';

export const revert = defineCommand({
  name: 'revert',
  summary: 'undo a commit of the state by committing its inverse',
  args: ['SESSION', 'SEQ'],
  options: { why: text('TEXT', 'why, for the log') },
  notes: [
    'Refused if a later commit changed the same values: revert that one first. `perdure log SESSION --commits` lists them.',
    'Reverting an adoption also brings back its files. Otherwise files stay as they are: see `perdure files restore`.',
  ],
  examples: [`perdure revert ses_… 17 --why 'the port was right'`],
  json: CommitView.extend({ files: z.array(ChangedFileView) }).nullable(),
  run: async (context, { args: [named, seq], options: { why } }) => {
    const target = parseCount('SEQ', seq!.replace(/^seq:/, ''), 1)!;
    const session = await context.session(named!);
    const record = await session.revert(target, { ...(why !== undefined && { why }) });
    await context.answer(record ?? null, () =>
      record
        ? [
            `reverted commit ${target} with event ${record.seq}: ${changedEntries(record)}`,
            ...record.files.flatMap((each) => hangingIndent('  ', changedFileText(each), context.out.columns)),
          ]
        : `commit ${target} changed no value: there is nothing to revert`,
    );
  },
});
