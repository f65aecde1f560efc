import { Priority } from '../../../schema/description.ts';
import { visibilities } from '../../../schema/reaches.ts';
import { SummaryView } from '../../../schema/views/session.ts';
import { chooseAgent } from '../../config/choose-agent.ts';
import { choice, defineCommand, flag, text, texts } from '../../parse/command.ts';
import { limitOptions, parseLimits } from '../../parse/limits.ts';
import { parseAbout } from '../../parse/parse-about.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
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
    visibility: choice('WHICH', visibilities, 'private, or workspace, which is the default: who sees it besides you'),
    'share-with': texts('MEMBER', 'a member that sees the session too'),
    'carry-from': text('SESSION', 'start with what this session knows, plans, has open and keeps as artifacts'),
    'carry-files': flag('with --carry-from, start with its files too'),
    ...filesOptions,
    ...limitOptions,
  },
  examples: [
    'perdure open --agent demo',
    `perdure open --title 'Fix the failing test'`,
    `perdure open --metadata '{"ticket":"OPS-12"}'`,
    'perdure open --agent demo --tokens 50000 --usd 0.50 --turns 20',
    'perdure open --agent demo --carry-from ses_…',
    'perdure open --agent demo --carry-from ses_… --carry-files',
    'perdure open --agent demo --visibility private --share-with ann',
  ],
  makesStore: true,
  json: SummaryView,
  run: async (context, { options }) => {
    const { title, metadata, priority, agent: named, from, git, ref, cwd, 'carry-from': carried } = options;
    const files = options['carry-files'];
    if (files && carried === undefined) throw wrongCall('--carry-files needs --carry-from: give both');
    if (files && (from ?? git ?? cwd) !== undefined) {
      throw wrongCall('--carry-files excludes --from, --git and --cwd: leave out one of them');
    }
    const described = parseAbout({ title, metadata, priority });
    const budget = parseLimits(options);
    const agent = named === undefined ? undefined : chooseAgent(await context.config(), named);
    const source = carried === undefined ? undefined : await context.sessionId(carried);
    const carryFrom = source && files ? { session: source, files } : source;
    const about = {
      ...described,
      agent,
      carryFrom,
      ...(options.visibility && { visibility: options.visibility }),
      ...(options['share-with'] && { sharedWith: options['share-with'] }),
      ...(budget && { budget }),
    };
    const session = await openNew(context, about, { from, git, ref, cwd });
    await context.answer(await session.summary(), () => session.id);
  },
});
