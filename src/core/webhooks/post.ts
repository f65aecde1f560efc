import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.ts';

/** A resolved address. Does not use Node's types, which users of the package may not have. */
export interface FoundAddress {
  readonly address: string;
  readonly family: number;
}

export interface PostRules {
  /** Allows private addresses and plain HTTP, for receivers on the same machine or network. */
  readonly allowPrivate: boolean;
  /** The time within which a receiver must answer. */
  readonly timeoutMs: number;
  /** Resolves host names, so that tests can inject their own resolver. */
  readonly resolve: (name: string) => Promise<readonly FoundAddress[]>;
}

export const defaultPostRules: PostRules = {
  allowPrivate: false,
  timeoutMs: 10_000,
  resolve: async (name) => (await import('node:dns/promises')).lookup(name, { all: true }),
};

export interface Posted {
  readonly status: number;
  /** The beginning of the response body. */
  readonly answer: string;
}

const keptBytes = 1024;

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

const howToAllow = 'set PERDURE_WEBHOOKS_ALLOW_PRIVATE=1, or openRuntime({ webhooks: { allowPrivate: true } })';

const notPublic = (address: string): string =>
  `${address} is not a public address: webhooks to private addresses must be allowed explicitly: ${howToAllow}`;

/** Names that always resolve to this machine (RFC 6761). */
const isLocalName = /(^|\.)localhost\.?$/;

/** Checks a URL before its name is resolved. */
export const urlProblem = (text: string, { allowPrivate }: Pick<PostRules, 'allowPrivate'>): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    return 'expected an address such as https://example.org/hooks';
  if (url.username || url.password)
    return 'the address contains a user name or a password, which must not be stored: remove them';
  if (allowPrivate) return undefined;
  if (url.protocol !== 'https:') return `expected an https address; for a receiver on your own network, ${howToAllow}`;
  const host = hostOf(url);
  return isLocalName.test(host) || (isIP(host) && !isPublicAddress(host)) ? notPublic(host) : undefined;
};

/**
 * Resolves and checks the address. The request connects to exactly this address, even if the name resolves differently
 * later.
 */
const checkedAddress = async (url: URL, { allowPrivate, resolve }: PostRules): Promise<FoundAddress> => {
  const host = hostOf(url);
  const family = isIP(host);
  const found = family ? [{ address: host, family }] : await resolve(host);
  const refused = allowPrivate ? undefined : found.find(({ address }) => !isPublicAddress(address));
  if (refused) throw new Error(notPublic(refused.address));
  if (!found[0]) throw new Error(`${host} does not resolve to an address`);
  return found[0];
};

const beginningOf = async (response: IncomingMessage): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= keptBytes) break;
    }
  } catch {
    // The body was incomplete or took too long. The status is known, and only the status matters.
  }
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, keptBytes));
  return text.replaceAll('\0', '\ufffd');
};

/**
 * Returns the request function. Loads the module on first use, because loading it would add a fifth to the time of
 * opening a store.
 */
const requestFor = async ({ protocol }: URL) =>
  protocol === 'https:' ? (await import('node:https')).request : (await import('node:http')).request;

const answerOf = async (
  url: URL,
  { address, family }: FoundAddress,
  { headers, body, signal }: { headers: Readonly<Record<string, string>>; body: string; signal: AbortSignal },
): Promise<IncomingMessage> => {
  const begin = await requestFor(url);
  return new Promise((resolve, reject) => {
    const request = begin(url, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'perdure-webhooks',
        ...headers,
      },
      signal,
      lookup: (_, options, done) => (options.all ? done(null, [{ address, family }]) : done(null, address, family)),
    });
    request.on('response', resolve).on('error', reject).end(body);
  });
};

const untilAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });

/** Sends a POST request. Does not follow redirects, because their target was not checked. */
export const post = async (
  address: string,
  message: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  rules: PostRules,
  signal: AbortSignal,
): Promise<Posted> => {
  const problem = urlProblem(address, rules);
  if (problem) throw new Error(problem);
  const url = new URL(address);
  signal.throwIfAborted();
  try {
    const to = await untilAborted(checkedAddress(url, rules), signal);
    const response = await answerOf(url, to, { ...message, signal });
    const answer = await beginningOf(response);
    response.destroy();
    return { status: response.statusCode ?? 0, answer };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
};
