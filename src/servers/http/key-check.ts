import { createHash } from 'node:crypto';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { Authenticated } from '../../core/access/authenticate.ts';
import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { Holdings } from './holdings.ts';
import type { Observer } from './observer.ts';
import { unauthenticated } from './problem.ts';
import { type Rate, RateLimit } from './rate-limit.ts';

const tokenOf = (headers: Headers): string | undefined => {
  const [, token] = /^Bearer (pdk_[\x21-\x7e]{1,500})$/i.exec(headers.get('authorization') ?? '') ?? [];
  return token;
};

export interface KeyLimits {
  readonly rate: Rate;
  /** How many wrong keys one address may send before they are answered with 429. */
  readonly wrongKeyRate: Rate;
  /** Shared by all keys of a workspace. */
  readonly workspaceRate: Rate;
  /** Maximum number of streams and waits for runs that one key may have open at the same time. */
  readonly streamsPerKey: number;
  /** The same maximum for all keys of a workspace together, and for the whole server. */
  readonly streams: { readonly perWorkspace: number; readonly perServer: number };
  /** Interval at which streams check their keys again. */
  readonly beatMs: number;
}

export interface KeyCheck {
  find(headers: Headers): Promise<Authenticated | undefined>;
  /**
   * Fails with UNAUTHENTICATED. After too many wrong keys from the address, fails with RATE_LIMITED before it looks up a
   * key that was not accepted lately.
   */
  mustFind(headers: Headers, address: string): Promise<Authenticated>;
  /** Fails with RATE_LIMITED when the key or its workspace has exceeded its rate. */
  limitRate(found: Authenticated): void;
  /**
   * Counts a stream or a wait until the returned function is called. Fails with RATE_LIMITED when the key or its
   * workspace has too many, and with STORE_BUSY when the server has.
   */
  open(found: Authenticated): () => void;
  /** Whether the key is still valid, with the same permissions. All streams of a key share one check at a time, and its result for a moment. */
  isValid(found: Authenticated, headers: Headers): Promise<boolean>;
}

const limited = (what: string, retryAfterSeconds: number): PerdureError =>
  new PerdureError('RATE_LIMITED', what, { details: { retryAfterSeconds } });

const refuseBeyond = (limit: RateLimit, name: string, whose: string): void => {
  const seconds = limit.take(name);
  if (seconds !== undefined) throw limited(`too many requests with ${whose}: retry in ${seconds} s`, seconds);
};

const nameOf = ({ identity, key }: Authenticated): string => `${identity.workspace}/${key.id}`;
/** Value of Retry-After, in seconds. It is a guess, because the end of a stream is not predictable. */
const streamRetrySeconds = 5;

/** For how long an accepted key is looked up although its address has sent too many wrong ones. */
const acceptedMs = 60 * 60 * 1000;
const maxAccepted = 10_000;

/** Keys that were accepted lately, by their hash. */
class AcceptedKeys {
  readonly #at = new BoundedMap<string, number>(maxAccepted);

  has(token: string): boolean {
    const at = this.#at.get(hashOf(token));
    return at !== undefined && performance.now() - at < acceptedMs;
  }

  note(token: string, isAccepted: boolean): void {
    if (isAccepted) this.#at.set(hashOf(token), performance.now());
    else this.#at.delete(hashOf(token));
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64');

/** For how long a check of a key counts. */
const freshMs = 1000;
const maxChecks = 10_000;

interface Check {
  readonly at: number;
  readonly found: Promise<Authenticated | undefined>;
}

/** Whether a key still gives the same permissions. If not, a client must connect again. */
const isStill = ({ identity: before }: Authenticated, now: Authenticated | undefined): boolean =>
  now !== undefined && now.identity.role === before.role && now.identity.reach === before.reach;

/** Authenticates the key of a request and applies its rate limits. */
export const keyCheck = (
  runtime: Pick<Runtime, 'authenticate'>,
  { rate, workspaceRate, wrongKeyRate, streamsPerKey, streams: { perWorkspace, perServer }, beatMs }: KeyLimits,
  onWrongKey: Observer['wrongKey'] = () => {},
): KeyCheck => {
  const byAddress = new RateLimit(wrongKeyRate);
  const accepted = new AcceptedKeys();
  const byKey = new RateLimit(rate);
  const byWorkspace = new RateLimit(workspaceRate);
  const streams = new Holdings();
  const byTenant = new Holdings();
  const checks = new BoundedMap<string, Check>(maxChecks);
  const find = async (headers: Headers): Promise<Authenticated | undefined> => {
    const token = tokenOf(headers);
    return token === undefined ? undefined : runtime.authenticate(token);
  };
  return {
    find,
    mustFind: async (headers, address) => {
      if (!headers.has('authorization')) throw unauthenticated;
      const refuseFor = (seconds: number | undefined): void => {
        if (seconds === undefined) return;
        onWrongKey('limited');
        throw limited(`too many wrong keys from this address: retry in ${seconds} s`, seconds);
      };
      const token = tokenOf(headers) ?? '';
      if (!accepted.has(token)) refuseFor(byAddress.wouldWait(address)); // a flood of wrong keys costs no lookups
      const found = await find(headers);
      accepted.note(token, found !== undefined);
      if (found) return found;
      refuseFor(byAddress.take(address));
      onWrongKey('rejected');
      throw unauthenticated;
    },
    limitRate: (found) => {
      refuseBeyond(byKey, nameOf(found), 'this key');
      refuseBeyond(byWorkspace, found.identity.workspace, 'the keys of this workspace');
    },
    open: (found) => {
      const name = nameOf(found);
      if (streams.by(name) >= streamsPerKey) {
        throw limited(
          `this key has reached its limit of ${streamsPerKey} open streams and waits for runs: end some, follow the workspace through one stream at /v1/events, or use a key per program`,
          streamRetrySeconds,
        );
      }
      const { workspace } = found.identity;
      if (byTenant.by(workspace) >= perWorkspace) {
        throw limited(
          `the keys of this workspace have reached their limit of ${perWorkspace} open streams and waits for runs: end some, or follow the workspace through one stream at /v1/events`,
          streamRetrySeconds,
        );
      }
      if (byTenant.total >= perServer) {
        throw new PerdureError(
          'STORE_BUSY',
          `the server has reached its limit of ${perServer} open streams and waits for runs: retry in ${streamRetrySeconds} s, or use another server`,
          { details: { retryAfterSeconds: streamRetrySeconds } },
        );
      }
      streams.add(name, 1);
      byTenant.add(workspace, 1);
      return () => {
        streams.add(name, -1);
        byTenant.add(workspace, -1);
      };
    },
    isValid: async (found, headers) => {
      const name = nameOf(found);
      const known = checks.get(name);
      const now = performance.now();
      if (known && now - known.at < Math.min(freshMs, beatMs)) return isStill(found, await known.found);
      const checked = find(headers);
      checks.set(name, { at: now, found: checked });
      return isStill(found, await checked);
    },
  };
};
