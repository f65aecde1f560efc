import { type Holder, holders } from '../../schema/statuses.ts';
import { defineCommand, text } from '../command.ts';
import { carryOn } from '../runs/carry-on.ts';
import { wrongCall } from '../wrong-call.ts';

const holderOf = (name: string | undefined): Holder => {
  const holder = holders.find((each) => each === name);
  if (holder) return holder;
  throw wrongCall(`handoff needs --to ${holders.join(' or ')}${name === undefined ? '' : `; got "${name}"`}`);
};

export const handoff = defineCommand({
  name: 'handoff',
  summary: 'give a session to a person, or back to its agent',
  args: ['SESSION'],
  options: {
    to: text('HOLDER', `${holders.join(' or ')}; needed`),
    reason: text('TEXT', 'why, for the log'),
  },
  examples: [`perdure handoff ses_… --to human --reason 'let me look'`, 'perdure handoff ses_… --to agent'],
  run: async (context, { args, options: { to, reason } }) => {
    const holder = holderOf(to);
    const session = await context.session(args[0]!);
    await session.handoff({ to: holder, reason });
    await context.answer({ session: session.id, holder }, () => `${session.id} is with the ${holder}`);
    if (holder === 'agent') await carryOn(context, session);
    return undefined;
  },
});
