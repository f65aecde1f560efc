import { z } from 'zod';
import { SessionId } from '../../../schema/ids.ts';
import { Limits } from '../../../schema/run.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';

const parseUsd = (given: string | undefined): number | undefined => {
  if (given === undefined) return undefined;
  if (/^\d{1,9}(\.\d{1,6})?$/.test(given)) return Number(given);
  throw wrongCall(`--usd is an amount such as 5 or 0.25; got "${given}"`);
};

const unitMs: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 };
const parseActive = (given: string | undefined): number | undefined => {
  if (given === undefined) return undefined;
  const [, amount, unit = ''] = /^(\d{1,6})\s?(s|min|h)$/.exec(given) ?? [];
  if (amount !== undefined) return Number(amount) * unitMs[unit]!;
  throw wrongCall(`--active is a time such as 30s, 10min or 2h; got "${given}"`);
};

const textOf = ({ tokens, usd, turns }: Limits, active: string | undefined): string =>
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
  options: {
    tokens: text('N', 'tokens in and out'),
    usd: text('AMOUNT', 'what priced models may cost'),
    turns: text('N', 'inputs to answer'),
    active: text('TIME', 'time at work: 30s, 10min, 2h'),
  },
  notes: ['A limit that is not given is removed.'],
  examples: ['perdure limit ses_… --tokens 200000 --usd 2.50'],
  json: z.strictObject({ session: SessionId, limits: Limits }),
  run: async (context, { args, options }) => {
    const given = {
      tokens: parseCount('--tokens', options.tokens, 0),
      usd: parseUsd(options.usd),
      turns: parseCount('--turns', options.turns, 0),
      activeMs: parseActive(options.active),
    };
    const limits = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Limits;
    if (Object.keys(limits).length === 0) {
      throw wrongCall('limit needs --tokens, --usd, --turns or --active: see `perdure help limit`');
    }
    const session = await context.session(args[0]!);
    await session.limit(limits);
    await context.answer(
      { session: session.id, limits },
      () => `${session.id} may use ${textOf(limits, options.active)} in total`,
    );
    await (await import('../../runs/carry-on.ts')).carryOn(context, session);
    return undefined;
  },
});
