import type { Authenticated } from '../../core/service/registry/authenticate.ts';
import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { unauthenticated } from './problem.ts';
import { type Rate, RateLimit } from './rate-limit.ts';

const tokenOf = (headers: Headers): string | undefined => {
  const [, token] = /^Bearer (pdk_[\x21-\x7e]{1,500})$/i.exec(headers.get('authorization') ?? '') ?? [];
  return token;
};

export interface KeyCheck {
  find(headers: Headers): Promise<Authenticated | undefined>;
  mustFind(headers: Headers): Promise<Authenticated>;
  /** Fails with RATE_LIMITED when the key has asked too often. */
  limitRate(found: Authenticated): void;
}

/** By the key of a request: whose it is, and whether it may ask again already. */
export const keyCheck = (runtime: Pick<Runtime, 'authenticate'>, rate: Rate): KeyCheck => {
  const byKey = new RateLimit(rate);
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
    limitRate: ({ identity, key }) => {
      const waitSeconds = byKey.take(`${identity.workspace}/${key.id}`);
      if (waitSeconds === undefined) return;
      throw new PerdureError('RATE_LIMITED', `too many requests with this key: try again in ${waitSeconds} s`, {
        details: { retryAfterSeconds: waitSeconds },
      });
    },
  };
};
