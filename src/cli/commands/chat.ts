import { defineCommand } from '../command.ts';
import type { Ending } from '../exit-codes.ts';
import { chatAbout } from '../runs/chat-about.ts';
import { newSessionOptions, sessionFor } from '../runs/new-session.ts';
import { wrongCall } from '../wrong-call.ts';

export const chat = defineCommand({
  name: 'chat',
  summary: 'talk to an agent, in a new session or in one that there is',
  args: ['[SESSION]'],
  options: newSessionOptions,
  notes: [
    'What is typed while a run is under way steers it. /help lists what else can be typed. Ctrl-C leaves the run to a process in the background, a second one cancels it.',
  ],
  examples: ['perdure chat --cwd .', 'perdure chat --git https://example.org/app.git --ref main', 'perdure chat ses_…'],
  makesStore: true,
  run: async (context, { args: [named], options: { agent, from, git, ref, cwd } }): Promise<Ending | undefined> => {
    if (context.json) throw wrongCall('chat is for people: programs use send --json');
    const session = await sessionFor(context, named, { agent, from, git, ref, cwd });
    const person = context.person({ anyInput: true });
    if (!person) throw wrongCall('chat needs an input to read from');
    try {
      return await chatAbout(context, session, person);
    } finally {
      person.close();
    }
  },
});
