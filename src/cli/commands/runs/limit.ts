import { z } from 'zod';
import { SessionId } from '../../../schema/ids.ts';
import { Limits } from '../../../schema/run.ts';
import { defineCommand } from '../../parse/command.ts';
import { limitOptions, parseLimits } from '../../parse/limits.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';

const limitsText = ({ tokens, usd, turns }: Limits, active: string | undefined): string =>
  [
    ...(tokens === undefined ? [] : [count(tokens, 'token')]),
    ...(usd === undefined ? [] : [`${usd} USD`]),
    ...(turns === undefined ? [] : [count(turns, 'turn')]),
    ...(active === undefined ? [] : [`${active} at work`]),
  ].join(', ');

export const limit = defineCommand({
  name: 'limit',
  summary: 'limit what a session may use in total; a run that is waiting for its budget goes on',
  args: ['SESSION'],
  options: limitOptions,
  notes: [
    'A limit that is not given is removed.',
    'A model is asked for no longer an answer than the budget leaves. With room for less than 256 output tokens, the run waits.',
  ],
  examples: ['perdure limit ses_… --tokens 200000 --usd 2.50'],
  json: z.strictObject({ session: SessionId, limits: Limits }),
  run: async (context, { args, options }) => {
    const limits = parseLimits(options);
    if (!limits) throw wrongCall('limit needs --tokens, --usd, --turns or --active: see `perdure help limit`');
    const session = await context.session(args[0]!);
    await session.limit(limits);
    await context.answer(
      { session: session.id, limits },
      () => `${session.id} may use ${limitsText(limits, options.active)} in total`,
    );
    await (await import('../../runs/carry-on.ts')).carryOn(context, session);
    return undefined;
  },
});
