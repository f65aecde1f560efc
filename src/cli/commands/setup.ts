import { Member } from '../../schema/member.ts';
import { type Context, defineCommand, text } from '../command.ts';
import { printableLine } from '../printable.ts';
import { wrongCall } from '../wrong-call.ts';

const askName = async ({ person }: Context): Promise<string> => {
  const asked = person();
  if (!asked?.isTerminal) throw wrongCall('setup asks for your name on a terminal: elsewhere give it with --name');
  try {
    asked.prompt('your name, as agents are told it: ');
    const name = (await asked.nextLine())?.trim();
    if (name) return name;
  } finally {
    asked.close();
  }
  throw wrongCall('setup needs a name: nothing was kept');
};

export const setup = defineCommand({
  name: 'setup',
  summary: 'say who you are, which agents are told',
  args: [],
  options: {
    name: text('NAME', 'your display name, without being asked'),
    about: text('TEXT', 'more that agents should know of you'),
  },
  notes: ['Kept as the profile of the member `local` of the workspace.'],
  examples: ['perdure setup  # needs a person at a terminal', 'perdure setup --name Ann'],
  makesStore: true,
  backingOptions: ['store', 'config', 'workspace'],
  json: Member,
  run: async (context, { options: { name: given, about } }) => {
    const name = given ?? (await askName(context));
    const { members } = await context.runtime();
    const profile = { name, ...(about !== undefined && { about }) };
    const isKnown = (await members.list()).some(({ id }) => id === 'local');
    const member = await (isKnown
      ? members.change('local', { profile })
      : members.add({ id: 'local', role: 'admin', profile }));
    await context.answer(member, () => `agents are told that they work for ${printableLine(name)}`);
    return undefined;
  },
});
