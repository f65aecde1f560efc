import { Priority } from '../../../schema/description.ts';
import { SummaryView } from '../../../schema/views/session.ts';
import { chooseAgent } from '../../config/choose-agent.ts';
import { choice, defineCommand, text } from '../../parse/command.ts';
import { limitOptions, parseLimits } from '../../parse/limits.ts';
import { parseAbout } from '../../parse/parse-about.ts';
import { filesOptions, openNew, titleOption } from '../../runs/new-session.ts';

export const open = defineCommand({
  name: 'open',
  summary: 'open a session and print its id',
  args: [],
  options: {
    agent: text('AGENT', 'the agent that answers what is sent'),
    ...titleOption,
    metadata: text('JSON', 'an object to keep with the session'),
    priority: choice(
      'WHICH',
      Priority.options,
      'low, normal or high: which sessions workers take first; default normal',
    ),
    'carry-from': text('SESSION', 'start with the facts, pins, decisions, plan and artifacts of this session'),
    ...filesOptions,
    ...limitOptions,
  },
  examples: [
    'perdure open --agent demo',
    `perdure open --title 'Fix the failing test'`,
    `perdure open --metadata '{"ticket":"OPS-12"}'`,
    'perdure open --agent demo --tokens 50000 --usd 0.50 --turns 20',
    'perdure open --agent demo --carry-from ses_…',
  ],
  makesStore: true,
  json: SummaryView,
  run: async (context, { options }) => {
    const { title, metadata, priority, agent: named, from, git, ref, cwd, 'carry-from': carried } = options;
    const described = parseAbout({ title, metadata, priority });
    const budget = parseLimits(options);
    const agent = named === undefined ? undefined : chooseAgent(await context.config(), named);
    const carryFrom = carried === undefined ? undefined : await context.sessionId(carried);
    const about = { ...described, agent, carryFrom, ...(budget && { budget }) };
    const session = await openNew(context, about, { from, git, ref, cwd });
    await context.answer(await session.summary(), () => session.id);
  },
});
