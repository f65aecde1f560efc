import type { Compaction } from '../../../core/context/compact.ts';
import { CompactionView } from '../../../schema/views/session.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { wrap } from '../../terminal/display-width.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine, printableLines } from '../../terminal/printable.ts';
import type { Terminal } from '../../terminal/terminal.ts';

type Shown = Pick<Compaction, 'extracted' | 'dropped'>;

const extractedLines = ({ extracted, dropped }: Shown, out: Terminal): readonly string[] => [
  ...(extracted.length > 0 ? [out.style('bold', 'committed to the state as unverified')] : []),
  ...extracted.flatMap((path) => hangingIndent('  ', printableLine(path), out.columns)),
  ...(dropped.length > 0 ? [out.style('bold', 'not committed')] : []),
  ...dropped.flatMap(({ entry, reason }) =>
    hangingIndent('  ', `${printableLine(entry)}: ${printableLine(reason)}`, out.columns),
  ),
];

const linesOf = ({ from, to, summary, evicted, ...more }: Compaction, out: Terminal): readonly string[] => [
  out.style('bold', `a summary stands for seq:${from} to seq:${to}`),
  ...printableLines(summary).flatMap((line) => wrap(line, out.columns)),
  ...extractedLines(more, out),
  out.style('bold', 'can be recalled by key'),
  ...evicted.flatMap(({ key }) => hangingIndent('  ', printableLine(key), out.columns)),
];

export const compact = defineCommand({
  name: 'compact',
  summary: 'replace older turns in contexts with a summary; nothing is erased',
  args: ['SESSION'],
  options: { keep: text('N', 'how many of the last turns to keep as they are; default 4') },
  notes: [
    'The summary is made without a model and extracts no facts. `perdure recall SESSION KEY` brings back what it stands for.',
  ],
  examples: ['perdure compact ses_… --keep 2'],
  json: CompactionView.shape.compaction.unwrap().nullable(),
  run: async (context, { args, options }) => {
    const keepTurns = parseCount('--keep', options.keep, 1);
    const session = await context.session(args[0]!);
    const compaction = await session.compact({ keepTurns });
    await context.answer(compaction ?? null, () =>
      compaction ? linesOf(compaction, context.out) : 'there is nothing to compact: --keep covers all turns',
    );
  },
});
