import { SummaryView } from '../../schema/views/session.ts';
import { defineCommand, text } from '../command.ts';
import { optionalPoint } from '../point.ts';

export const fork = defineCommand({
  name: 'fork',
  summary: 'make a session that goes on from a point of another, and print its id',
  args: ['SESSION'],
  options: {
    at: text('POINT', 'turn:3 (or just 3) for the end of a turn, seq:17 for an event; without it, now'),
    title: text('TEXT', 'a title of its own'),
  },
  notes: ['Inputs that wait at the point are not taken along: nobody answers them there.'],
  examples: ['perdure fork ses_…', `perdure fork ses_… --at turn:3 --title 'The other way'`],
  json: SummaryView,
  run: async (context, { args, options: { at, title } }) => {
    const point = optionalPoint(at);
    const session = await context.session(args[0]!);
    const child = await session.fork({ at: point, title });
    const summary = await child.summary();
    await context.answer(summary, () => child.id);
    if (summary.status === 'paused') {
      await context.note(
        `it begins in the middle of a turn, so it is paused: \`${context.commandText('resume', child.id)}\` lets it go on`,
      );
    }
  },
});
