import { EventView } from '../../schema/views/event.ts';
import { defineCommand, text } from '../command.ts';
import { parseCount } from '../point.ts';

export const attach = defineCommand({
  name: 'attach',
  summary: 'follow what a session does, and work on it when nobody does',
  args: ['SESSION'],
  options: { after: text('SEQ', 'show events after this one; without it, from the beginning of the newest run') },
  notes: [
    'Answers are shown as they are written where this process works on the run, and whole, one after another, where another does.',
    'Ctrl-C leaves it to a process in the background, a second one cancels the run. Exit codes are those of send.',
  ],
  examples: ['perdure attach ses_…', 'perdure attach ses_… --after 17 --json'],
  json: EventView,
  jsonLines: true,
  run: async (context, { args, options }) => {
    const after = parseCount('--after', options.after, 0);
    const session = await context.session(args[0]!);
    const { attachTo } = await import('../runs/attach.ts');
    const person = context.person();
    try {
      return await attachTo(context, session, { after, person });
    } finally {
      person?.close();
    }
  },
});
