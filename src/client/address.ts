import { PerdureError } from '../schema/error.ts';
import type { SessionId } from '../schema/ids.ts';
import type { Place } from '../schema/place.ts';
import type { Point } from '../schema/point.ts';

type Value = string | number | boolean | undefined;
export type Query = Readonly<Record<string, Value | readonly Value[]>>;

/** A path whose parts are data. */
export const path = (fixed: TemplateStringsArray, ...parts: readonly (string | number)[]): string =>
  String.raw({ raw: fixed }, ...parts.map((part) => encodeURIComponent(part)));

export const queryText = (query: Query = {}): string => {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) given.append(name, String(each));
  }
  return given.size > 0 ? `?${given}` : '';
};

/** As queries write it. */
export const pointText = (point: Point | undefined): string | undefined =>
  point && ('seq' in point ? `seq:${point.seq}` : `turn:${point.turn}`);

export const placeText = (place: Place): string => {
  if ('attempt' in place) return `turn:${place.turn}#${place.attempt}`;
  const { session, ...point } = place as { session?: SessionId } & Point;
  const at = Object.keys(point).length > 0 ? pointText(point as Point) : undefined;
  return [session, at].filter((part) => part !== undefined).join('@');
};

/** The address of a server, without a slash at its end. */
export const parseServer = (url: string): string => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isServer = parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password;
  if (!isServer || parsed.search || parsed.hash) {
    throw new PerdureError(
      'INVALID_INPUT',
      'this is not the address of a server: give one such as https://perdure.example.org, and no more',
    );
  }
  return parsed.href.replace(/\/+$/, '');
};

/** It goes into a header; what it is stays untold. */
export const parseKey = (key: string): string => {
  if (typeof key === 'string' && /^pdk_[\x21-\x7e]{1,500}$/.test(key)) return key;
  throw new PerdureError('INVALID_INPUT', 'the key is not one of Perdure: it begins with pdk_, and has no spaces');
};
