type Headers = Readonly<Record<string, string | undefined>>;

const nonNegative = (text: string | undefined): number | undefined => {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
};

/** The delay that a provider requests: milliseconds in `retry-after-ms`, or seconds or a date in `retry-after`. */
export const retryAfterMs = (headers: Headers | undefined, nowMs: number): number | undefined => {
  const ms = nonNegative(headers?.['retry-after-ms']);
  if (ms !== undefined) return Math.round(ms);
  const text = headers?.['retry-after'];
  const seconds = nonNegative(text);
  if (seconds !== undefined) return Math.round(seconds * 1000);
  const date = Date.parse(text ?? '');
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
};
