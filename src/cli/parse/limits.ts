import type { Limits } from '../../schema/run.ts';
import { text, type Values } from './command.ts';
import { parseCount } from './point.ts';
import { wrongCall } from './wrong-call.ts';

/** Options that set a session's budget. */
export const limitOptions = {
  tokens: text('N', 'at most N tokens, in and out together'),
  usd: text('AMOUNT', 'at most this much for its models'),
  turns: text('N', 'answer at most N inputs'),
  active: text('TIME', 'at most this time at work: 30s, 10min, 2h'),
};

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

/** Returns the limits that the options set, or undefined if they set none. */
export const parseLimits = (options: Values<typeof limitOptions>): Limits | undefined => {
  const given = {
    tokens: parseCount('--tokens', options.tokens, 0),
    usd: parseUsd(options.usd),
    turns: parseCount('--turns', options.turns, 0),
    activeMs: parseActive(options.active),
  };
  const limits = Object.entries(given).filter(([, value]) => value !== undefined);
  return limits.length > 0 ? (Object.fromEntries(limits) as Limits) : undefined;
};
