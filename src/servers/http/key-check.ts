import type { Authenticated } from '../../core/access/authenticate.ts';
import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { Holdings } from './holdings.ts';
import { unauthenticated } from './problem.ts';
import { type Rate, RateLimit } from './rate-limit.ts';

const tokenOf = (headers: Headers): string | undefined => {
  const [, token] = /^Bearer (pdk_[\x21-\x7e]{1,500})$/i.exec(headers.get('authorization') ?? '') ?? [];
  return token;
};

export interface KeyLimits {
  readonly rate: Rate;
  /** Shared by all keys of a workspace. */
  readonly workspaceRate: Rate;
  /** Maximum number of streams and waits for runs that one key may have open at the same time. */
  readonly streamsPerKey: number;
}

export interface KeyCheck {
  find(headers: Headers): Promise<Authenticated | undefined>;
  mustFind(headers: Headers): Promise<Authenticated>;
  /** Fails with RATE_LIMITED when the key or its workspace has exceeded its rate. */
  limitRate(found: Authenticated): void;
  /**
   * Counts a stream or a wait until the returned function is called. Fails with RATE_LIMITED when the key has too
   * many.
   */
  open(found: Authenticated): () => void;
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

/** Authenticates the key of a request and applies its rate limits. */
export const keyCheck = (
  runtime: Pick<Runtime, 'authenticate'>,
  { rate, workspaceRate, streamsPerKey }: KeyLimits,
): KeyCheck => {
  const byKey = new RateLimit(rate);
  const byWorkspace = new RateLimit(workspaceRate);
  const streams = new Holdings();
  const find = async (headers: Headers): Promise<Authenticated | undefined> => {
    const token = tokenOf(headers);
    return token === undefined ? undefined : runtime.authenticate(token);
  };
  return {
    find,
    mustFind: async (headers) => {
      const found = await find(headers);
      if (!found) throw unauthenticated;
      return found;
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
      streams.add(name, 1);
      return () => streams.add(name, -1);
    },
  };
};
