import { PerdureError } from '../schema/error.ts';
import type { SessionId } from '../schema/ids.ts';
import type { Place } from '../schema/place.ts';
import type { Point } from '../schema/point.ts';

type Value = string | number | boolean | undefined;
export type Query = Readonly<Record<string, Value | readonly Value[]>>;

/** Builds a URL path and percent-encodes every interpolated part. */
export const path = (fixed: TemplateStringsArray, ...parts: readonly (string | number)[]): string =>
  String.raw({ raw: fixed }, ...parts.map((part) => encodeURIComponent(part)));

export const queryText = (query: Query = {}): string => {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) given.append(name, String(each));
  }
  return given.size > 0 ? `?${given}` : '';
};

/** Formats a point as a query parameter: `seq:N`, `turn:N` or `turn:N#A`. */
export const pointText = (point: Point | undefined): string | undefined => {
  if (!point) return undefined;
  if ('seq' in point) return `seq:${point.seq}`;
  return 'attempt' in point ? `turn:${point.turn}#${point.attempt}` : `turn:${point.turn}`;
};

export const placeText = (place: Place): string => {
  const { session, ...point } = place as { session?: SessionId } & Point;
  const at = Object.keys(point).length > 0 ? pointText(point as Point) : undefined;
  return [session, at].filter((part) => part !== undefined).join('@');
};

/** Validates a server address and removes its trailing slash. */
export const parseServer = (url: string): string => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isServer = parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password;
  if (!isServer || parsed.search || parsed.hash) {
    throw new PerdureError(
      'INVALID_INPUT',
      'the server address is not valid: give one such as https://perdure.example.org, without user, query or fragment',
    );
  }
  return parsed.href.replace(/\/+$/, '');
};

/**
 * Validates an API key. Control characters are refused, because the key is sent in a header. The error must not
 * repeat the key.
 */
export const parseKey = (key: string): string => {
  const token = typeof key === 'string' ? key.trim() : '';
  if (/^pdk_[\x21-\x7e]{1,500}$/.test(token)) return token;
  throw new PerdureError('INVALID_INPUT', 'the API key is not valid: it must begin with pdk_ and contain no spaces');
};
