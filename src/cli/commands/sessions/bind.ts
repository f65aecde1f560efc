import { SummaryView } from '../../../schema/views/session.ts';
import { chooseAgent, nameOf } from '../../config/choose-agent.ts';
import { defineCommand } from '../../parse/command.ts';

export const bind = defineCommand({
  name: 'bind',
  summary: 'bind a session to an agent, or to another version of its agent',
  args: ['SESSION', 'AGENT'],
  options: {},
  notes: [
    'AGENT is a name, which means its newest version, or NAME@VERSION. `perdure agents` lists them.',
    'A session that has an agent can only change to another version of it. If the state schema of that version differs, its `migrate` changes the state.',
  ],
  examples: ['perdure bind ses_… demo', 'perdure bind ses_… demo@1'],
  json: SummaryView,
  run: async (context, { args: [named, wanted] }) => {
    const agent = chooseAgent(await context.config(), wanted);
    const session = await context.session(named!);
    await session.bind(agent);
    await context.answer(await session.summary(), () => `${session.id} belongs to ${nameOf(agent)}`);
  },
});
