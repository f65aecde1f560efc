const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365.25 * day;

const units: readonly (readonly [limit: number, unit: number, name: string])[] = [
  [minute, second, 's'],
  [hour, minute, 'min'],
  [2 * day, hour, 'h'],
  [60 * day, day, 'd'],
  [2 * year, year / 12, 'mo'],
  [Number.POSITIVE_INFINITY, year, 'y'],
];

/**
 * Formats how long ago a time was, in one unit: `40 s`, `5 min`, `3 h`. A future time, from a clock that is ahead, is
 * shown as now.
 */
export const age = (at: number, now: number): string => {
  const ms = now - at;
  if (ms < second) return 'now';
  const [, unit, name] = units.find(([limit]) => ms < limit)!;
  return `${Math.floor(ms / unit)} ${name}`;
};

export const ago = (at: number, now: number): string => {
  const text = age(at, now);
  return text === 'now' ? 'just now' : `${text} ago`;
};

const two = (number: number): string => String(number).padStart(2, '0');

/** Formats a time. Times outside the range of dates, which a foreign log may contain, are shown as numbers. */
const written = (at: number, write: (date: Date) => string): string => {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : write(date);
};

/** The day in the reader's local time zone. */
export const localDay = (at: number): string =>
  written(at, (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`);
export const localTime = (at: number): string =>
  written(at, (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`);

/** The time for machines and files: UTC with milliseconds. */
export const isoTime = (at: number): string => written(at, (date) => date.toISOString());
