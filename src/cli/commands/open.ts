import { type Description, Priority } from '../../schema/description.ts';
import { eventDefinitions } from '../../schema/event.ts';
import { SummaryView } from '../../schema/views/session.ts';
import { choice, defineCommand, text } from '../command.ts';
import { chooseAgent } from '../config/choose-agent.ts';
import { parseJson } from '../read-input.ts';
import { filesOptions, openNew } from '../runs/new-session.ts';
import { wrongCall } from '../wrong-call.ts';

/** Before there is a store to refuse it. */
const parseAbout = ({ title, metadata, priority }: Record<'title' | 'metadata' | 'priority', string | undefined>) => {
  const about = {
    ...(title !== undefined && { title }),
    ...(metadata !== undefined && { metadata: parseJson('--metadata', metadata) }),
    ...(priority !== undefined && { priority }),
  };
  const parsed = eventDefinitions['session.opened'].payload.safeParse(about);
  if (parsed.success) return about as Description;
  const problems = parsed.error.issues.map(({ path, message }) => `--${path.join('.')}: ${message}`);
  throw wrongCall(problems.slice(0, 3).join('; '));
};

export const open = defineCommand({
  name: 'open',
  summary: 'open a session and print its id',
  args: [],
  options: {
    agent: text('AGENT', 'the agent that answers what is sent'),
    title: text('TEXT', 'a title, shown in listings'),
    metadata: text('JSON', 'an object to keep with the session'),
    priority: choice(
      'WHICH',
      Priority.options,
      'low, normal or high: which sessions workers take first; default normal',
    ),
    ...filesOptions,
  },
  examples: [
    'perdure open --agent demo',
    `perdure open --title 'Fix the failing test'`,
    `perdure open --metadata '{"ticket":"OPS-12"}'`,
  ],
  makesStore: true,
  json: SummaryView,
  run: async (context, { options: { title, metadata, priority, agent: named, from, git, ref, cwd } }) => {
    const about = parseAbout({ title, metadata, priority });
    const agent = named === undefined ? undefined : chooseAgent(await context.config(), named);
    const session = await openNew(context, { ...about, agent }, { from, git, ref, cwd });
    await context.answer(await session.summary(), () => session.id);
  },
});
