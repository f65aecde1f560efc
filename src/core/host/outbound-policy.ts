import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.ts';

/** A resolved address. Does not use Node's types, which users of the package may not have. */
export interface FoundAddress {
  readonly address: string;
  readonly family: number;
}

/**
 * Decides which addresses a workspace may give, such as those of its webhooks. Addresses in the operator's program and
 * configuration are used as written.
 */
export interface OutboundPolicy {
  /** Allows private addresses and plain HTTP, for servers on the same machine or network. */
  readonly allowPrivate: boolean;
  /** Resolves host names, so that tests can inject their own resolver. */
  readonly resolve: (name: string) => Promise<readonly FoundAddress[]>;
}

export const defaultOutboundPolicy: OutboundPolicy = {
  allowPrivate: false,
  resolve: async (name) => (await import('node:dns/promises')).lookup(name, { all: true }),
};

/** Says that the policy does not allow an address. */
export class OutboundRefusal extends Error {}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

const howToAllow = 'set PERDURE_OUTBOUND_ALLOW_PRIVATE=1, or openRuntime({ outbound: { allowPrivate: true } })';

/** Names the host as it was given. What a name resolves to inside a network is not for its tenants. */
const notPublic = (host: string): string =>
  `${host} is not at a public address: the operator must allow private addresses explicitly: ${howToAllow}`;

/** Names that always resolve to this machine (RFC 6761). */
const isLocalName = /(^|\.)localhost\.?$/;

/** Other characters have a meaning of their own where a name is pinned to its addresses, as a leading `-` has. */
const isPlainName = /^(\w[\w-]*\.)*\w[\w-]*\.?$/;

/** Checks a URL before its name is resolved. */
export const outboundProblem = (
  text: string,
  { allowPrivate }: Pick<OutboundPolicy, 'allowPrivate'>,
): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    return 'expected an address such as https://example.org/path';
  const host = hostOf(url);
  if (!isIP(host) && !isPlainName.test(host))
    return `expected a host of letters, digits, - and _, no part of which begins with -; got ${host}`;
  if (allowPrivate) return undefined;
  if (url.protocol !== 'https:') return `expected an https address; for a server on your own network, ${howToAllow}`;
  return isLocalName.test(host) || (isIP(host) && !isPublicAddress(host)) ? notPublic(host) : undefined;
};

/**
 * Resolves a host once, and refuses it if any of its addresses is private. Connect to the returned addresses alone,
 * because the name may resolve differently later.
 */
export const checkedAddresses = async (
  url: URL,
  policy: OutboundPolicy,
): Promise<readonly [FoundAddress, ...FoundAddress[]]> => {
  const problem = outboundProblem(url.href, policy);
  if (problem) throw new OutboundRefusal(problem);
  const host = hostOf(url);
  const family = isIP(host);
  const [first, ...others] = family ? [{ address: host, family }] : await policy.resolve(host);
  if (!first) throw new Error(`${host} does not resolve to an address`);
  const found = [first, ...others] as const;
  const isAllowed = policy.allowPrivate || found.every(({ address }) => isPublicAddress(address));
  if (!isAllowed) throw new OutboundRefusal(notPublic(host));
  return found;
};
