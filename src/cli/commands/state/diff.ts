import { DiffView } from '../../../schema/views/session.ts';
import { parsePlace, placeIn } from '../../names/place.ts';
import { defineCommand, flag, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { noteOlder } from '../../render/note-older.ts';
import { renderDiff } from '../../render/render-diff.ts';

export const diff = defineCommand({
  name: 'diff',
  summary: 'show what was done, decided and changed differently between two places',
  args: ['SESSION', 'FROM', 'TO'],
  options: {
    content: flag('with text diffs of the files that differ'),
    limit: text('N', 'how many messages, calls, commits and files of each kind to show at most'),
    cursor: text('CURSOR', 'go on where an earlier page ended'),
  },
  notes: [
    'A place is turn:3 (or just 3), seq:17, turn:5#2 for the second attempt at turn 5, ses_… for where another branch is now, or ses_…@turn:3.',
    'What happened is compared from the newest event that both places share on. + marks what was added, - what was dropped, ~ what was changed, = what is the same. In answers, [-old-] and {+new+} mark words.',
    'The first lines quote and count what differs.',
  ],
  examples: [
    'perdure diff ses_… 3 4',
    'perdure diff ses_… turn:5#1 turn:5#2 --content',
    'perdure diff ses_… seq:17 ses_…',
  ],
  json: DiffView,
  run: async (context, { args: [named, from, to], options }) => {
    const [a, b] = [parsePlace(from!), parsePlace(to!)];
    const limit = parseCount('--limit', options.limit, 1);
    const session = await context.session(named!);
    const found = await session.diff(await placeIn(context, a), await placeIn(context, b), {
      ...(options.content && { content: true }),
      ...(limit !== undefined && { limit }),
      ...(options.cursor !== undefined && { cursor: options.cursor }),
    });
    await context.answer(found, () => renderDiff(found, context.out));
    await noteOlder(context, ['diff', named, from, to], options, found.cursor, 'more');
  },
});
