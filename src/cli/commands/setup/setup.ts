import { Member } from '../../../schema/member.ts';
import { type Context, defineCommand, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { printableLine } from '../../terminal/printable.ts';

const askName = async ({ person }: Context): Promise<string> => {
  const asked = person();
  if (!asked?.isTerminal) throw wrongCall('setup asks for your name at a terminal: elsewhere, give it with --name');
  try {
    asked.prompt('your name, as agents should know it: ');
    const name = (await asked.nextLine())?.trim();
    if (name) return name;
  } finally {
    asked.close();
  }
  throw wrongCall('setup needs a name, and nothing was saved: give it with --name');
};

export const setup = defineCommand({
  name: 'setup',
  summary: 'say who you are, so that agents know',
  args: [],
  options: {
    name: text('NAME', 'your display name; asked for by default'),
    about: text('TEXT', 'what else agents should know about you'),
  },
  notes: ['It is kept as the profile of the member `local` of the workspace.'],
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
    await context.answer(member, () => `agents now know that they work for ${printableLine(name)}`);
    return undefined;
  },
});
