import { EventView } from '../../../schema/views/event.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';

export const attach = defineCommand({
  name: 'attach',
  summary: 'follow what a session does, and work on it if nobody else does',
  args: ['SESSION'],
  options: { after: text('SEQ', 'show events after this one; default from the start of the newest run') },
  notes: [
    'Answers appear word by word if this process works on the run, and whole if another one does.',
    'Ctrl-C leaves the run to a background process, a second Ctrl-C cancels it. Exit codes are those of send.',
  ],
  examples: ['perdure attach ses_…', 'perdure attach ses_… --after 17 --json'],
  json: EventView,
  jsonLines: true,
  run: async (context, { args, options }) => {
    const after = parseCount('--after', options.after, 0);
    const session = await context.session(args[0]!);
    const { attachTo } = await import('../../runs/attach.ts');
    const person = context.person();
    try {
      return await attachTo(context, session, { after, person });
    } finally {
      person?.close();
    }
  },
});
