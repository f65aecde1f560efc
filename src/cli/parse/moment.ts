import { wrongCall } from './wrong-call.ts';

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

const isoDate = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/;

export const durationMs = (text: string): number | undefined => {
  const [, amount, unit = ''] = /^(\d{1,6})\s?(s|min|h|d|w)$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * unitMs[unit]!;
};

const dateMs = (text: string): number => (isoDate.test(text) ? Date.parse(text) : Number.NaN);

/** Parses a duration such as `24h` or `30min` into milliseconds. */
export const parseDuration = (option: string, text: string | undefined): number | undefined => {
  const ms = text === undefined ? undefined : durationMs(text);
  if (text === undefined || ms !== undefined) return ms;
  throw wrongCall(`${option} is a time such as 24h, 30min or 7d; got "${text}"`);
};

/**
 * Parses an ISO date, or a past duration such as `7d` (seven days ago), into milliseconds since 1970. A date without
 * a time means midnight UTC.
 */
export const parseMoment = (option: string, text: string | undefined, now: number): number | undefined => {
  if (text === undefined) return undefined;
  const ms = durationMs(text);
  const at = ms === undefined ? dateMs(text) : now - ms;
  if (!Number.isNaN(at)) return at;
  throw wrongCall(`${option} is a date such as 2026-03-01 or 2026-03-01T09:30, or 7d, 24h, 30min ago; got "${text}"`);
};

/**
 * Parses an ISO date, or a future duration such as `90d` (in 90 days), into milliseconds since 1970. A date without a
 * time means midnight UTC.
 */
export const parseDeadline = (option: string, text: string | undefined, now: number): number | undefined => {
  if (text === undefined) return undefined;
  const ms = durationMs(text);
  const at = ms === undefined ? dateMs(text) : now + ms;
  if (at > now) return at;
  throw wrongCall(`${option} is a future date such as 2030-03-01, or a time from now: 90d, 24h, 30min; got "${text}"`);
};

export interface TurnRange {
  readonly from?: number;
  readonly to?: number;
}

/** Parses a range of turns: `3-7` includes both ends, `3-` and `-7` are open-ended, and `3` is that turn alone. */
export const parseTurns = (option: string, text: string | undefined): TurnRange | undefined => {
  if (text === undefined) return undefined;
  const [, from, dash, to] = /^(\d{1,15})?(-)?(\d{1,15})?$/.exec(text) ?? [];
  const isRange = dash ? (from ?? to) !== undefined : from !== undefined && to === undefined;
  if (!isRange || (from !== undefined && to !== undefined && Number(from) > Number(to))) {
    throw wrongCall(`${option} is a range of turns such as 3-7, 3-, -7 or 3; got "${text}"`);
  }
  const last = dash ? to : from;
  return { ...(from !== undefined && { from: Number(from) }), ...(last !== undefined && { to: Number(last) }) };
};
