import { DiffView } from '../../../schema/views/session.ts';
import { parsePlace, placeIn } from '../../names/place.ts';
import { defineCommand } from '../../parse/command.ts';
import { renderDiff } from '../../render/render-diff.ts';

export const diff = defineCommand({
  name: 'diff',
  summary: 'show what was decided, learned, planned and changed between two places',
  args: ['SESSION', 'FROM', 'TO'],
  options: {},
  notes: [
    'A place is turn:3 (or just 3), seq:17, turn:5#2 for the second attempt at turn 5, ses_… for where another branch is now, or ses_…@turn:3.',
    '+ marks what was added, - what was dropped, ~ what was changed.',
  ],
  examples: ['perdure diff ses_… 3 4', 'perdure diff ses_… turn:5#1 turn:5#2', 'perdure diff ses_… seq:17 ses_…'],
  json: DiffView,
  run: async (context, { args: [named, from, to] }) => {
    const [a, b] = [parsePlace(from!), parsePlace(to!)];
    const session = await context.session(named!);
    const found = await session.diff(await placeIn(context, a), await placeIn(context, b));
    await context.answer(found, () => renderDiff(found, context.out));
  },
});
