import type { QuotaLimits } from '../../schema/quota.ts';
import { text, texts, type Values } from './command.ts';
import { parseCount } from './point.ts';
import { wrongCall } from './wrong-call.ts';

/** Options that set a quota. */
export const quotaOptions = {
  sessions: text('N', 'at most N sessions that are not archived'),
  bytes: text('N', 'at most N bytes in the logs of the sessions'),
  streams: text('N', 'at most N open streams and waits at a server'),
  runs: text('N', 'at most N runs at once'),
  'tokens-per-day': text('N', 'at most N tokens per day (UTC)'),
  'tokens-per-month': text('N', 'at most N tokens per month (UTC)'),
  'usd-per-day': text('AMOUNT', 'at most this much for models per day (UTC)'),
  'usd-per-month': text('AMOUNT', 'at most this much for models per month (UTC)'),
  agent: texts('NAME', 'only this agent; repeat it for more'),
  model: texts('NAME', 'only this model, as provider/model; repeat it for more'),
};

const parseUsd = (option: string, given: string | undefined): number | undefined => {
  if (given === undefined) return undefined;
  if (/^\d{1,9}(\.\d{1,6})?$/.test(given)) return Number(given);
  throw wrongCall(`${option} is an amount such as 5 or 0.25; got "${given}"`);
};

/** Returns the quota that the options set. Fails if they set nothing. */
export const parseQuota = (command: string, options: Values<typeof quotaOptions>): QuotaLimits => {
  const count = (name: 'sessions' | 'bytes' | 'streams' | 'runs' | 'tokens-per-day' | 'tokens-per-month') =>
    parseCount(`--${name}`, options[name], 0);
  const given = {
    sessions: count('sessions'),
    bytes: count('bytes'),
    streams: count('streams'),
    runs: count('runs'),
    tokensPerDay: count('tokens-per-day'),
    tokensPerMonth: count('tokens-per-month'),
    usdPerDay: parseUsd('--usd-per-day', options['usd-per-day']),
    usdPerMonth: parseUsd('--usd-per-month', options['usd-per-month']),
    agents: options.agent,
    models: options.model,
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  if (set.length > 0) return Object.fromEntries(set);
  throw wrongCall(`${command} needs a limit, such as --tokens-per-day: see \`perdure help ${command}\``);
};
