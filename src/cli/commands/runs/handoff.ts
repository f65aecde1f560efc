import { z } from 'zod';
import { SessionId } from '../../../schema/ids.ts';
import { Holder } from '../../../schema/lifecycle.ts';
import { holders } from '../../../schema/statuses.ts';
import { choice, defineCommand, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';

export const handoff = defineCommand({
  name: 'handoff',
  summary: 'give a session to a person, or back to its agent',
  args: ['SESSION'],
  options: {
    to: choice('HOLDER', holders, `${holders.join(' or ')}; required`),
    reason: text('TEXT', 'why, for the log'),
  },
  examples: [`perdure handoff ses_… --to human --reason 'let me look'`, 'perdure handoff ses_… --to agent'],
  json: z.strictObject({ session: SessionId, holder: Holder }),
  run: async (context, { args, options: { to, reason } }) => {
    if (to === undefined) throw wrongCall(`handoff needs --to ${holders.join(' or ')}: see \`perdure help handoff\``);
    const session = await context.session(args[0]!);
    await session.handoff({ to, reason });
    await context.answer({ session: session.id, holder: to }, () => `${session.id} is with the ${to}`);
    if (to === 'agent') await (await import('../../runs/carry-on.ts')).carryOn(context, session);
    return undefined;
  },
});
