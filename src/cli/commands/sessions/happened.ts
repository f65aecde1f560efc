import { HappenedCalls } from '../../../schema/happened.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { optionalPoint } from '../../parse/point.ts';
import { happenedLines, notUndone } from '../../render/happened-lines.ts';

export const happened = defineCommand({
  name: 'happened',
  summary: 'list calls with effects that a rewind, a retry, a fork or an adoption left behind',
  args: ['SESSION'],
  options: {
    after: text('POINT', 'what going back to turn:3 (or just 3), seq:17 or turn:5#1 would leave behind'),
  },
  notes: ['Nothing undoes these calls. The model is told about them, and a `once` call that repeats one is held back.'],
  examples: ['perdure happened ses_…', 'perdure happened ses_… --after turn:3'],
  json: HappenedCalls,
  run: async (context, { args, options: { after } }) => {
    const point = optionalPoint(after);
    const session = await context.session(args[0]!);
    const found = await session.happened({ after: point });
    await context.answer(found, () => {
      const lines = happenedLines(notUndone, found, context.out);
      return lines.length > 0 ? lines : 'no call with effects was left behind';
    });
  },
});
