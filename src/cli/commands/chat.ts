import type { Session } from '../../core/service/session.ts';
import { type Context, defineCommand, text } from '../command.ts';
import { chooseAgent, refuseForeign } from '../config/choose-agent.ts';
import type { Ending } from '../exit-codes.ts';
import { chatAbout } from '../runs/chat-about.ts';
import { wrongCall } from '../wrong-call.ts';

const sessionFor = async (context: Context, named: string | undefined, agent: string | undefined): Promise<Session> => {
  const config = await context.config();
  if (named === undefined) {
    const chosen = chooseAgent(config, agent);
    return (await context.sessions()).open({ agent: chosen });
  }
  if (agent !== undefined) throw wrongCall('--agent is for a new session: leave out SESSION or --agent');
  const session = await context.session(named);
  refuseForeign(config, await session.summary());
  return session;
};

export const chat = defineCommand({
  name: 'chat',
  summary: 'talk to an agent, in a new session or in one that there is',
  args: ['[SESSION]'],
  options: { agent: text('NAME', 'the agent of a new session; the only one there is without it') },
  notes: [
    'What is typed while a run is under way steers it. /help lists what else can be typed. Ctrl-C leaves the run to a process in the background, a second one cancels it.',
  ],
  examples: ['perdure chat', 'perdure chat ses_…'],
  makesStore: true,
  run: async (context, { args: [named], options: { agent } }): Promise<Ending | undefined> => {
    if (context.json) throw wrongCall('chat is for people: programs use send --json');
    const session = await sessionFor(context, named, agent);
    const person = context.person({ anyInput: true });
    if (!person) throw wrongCall('chat needs an input to read from');
    try {
      return await chatAbout(context, session, person);
    } finally {
      person.close();
    }
  },
});
