import { SummaryView } from '../../../schema/views/session.ts';
import { defineCommand } from '../../parse/command.ts';
import { printableLine } from '../../terminal/printable.ts';

export const title = defineCommand({
  name: 'title',
  summary: 'give a session another title, which listings show',
  args: ['SESSION', 'TEXT'],
  options: {},
  notes: ['An empty TEXT leaves it without one.'],
  examples: [`perdure title ses_… 'Fix the failing test'`],
  json: SummaryView,
  run: async (context, { args: [named, text] }) => {
    const session = await context.session(named!);
    await session.update({ title: text });
    await context.answer(await session.summary(), () =>
      text === '' ? `${session.id} has no title` : `${session.id} has the title ${printableLine(text!)}`,
    );
    return undefined;
  },
});
