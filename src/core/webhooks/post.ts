import type { IncomingMessage } from 'node:http';
import { checkedAddresses, type FoundAddress, type OutboundPolicy, outboundProblem } from '../host/outbound-policy.ts';

export interface WebhookSettings {
  /** The time within which a receiver must answer. */
  readonly timeoutMs: number;
}

export const defaultWebhookSettings: WebhookSettings = { timeoutMs: 10_000 };

export type PostRules = OutboundPolicy & WebhookSettings;

export interface Posted {
  readonly status: number;
  /** The beginning of the response body. */
  readonly answer: string;
}

const keptBytes = 1024;

/** Checks a URL before its name is resolved. */
export const urlProblem = (text: string, policy: Pick<OutboundPolicy, 'allowPrivate'>): string | undefined => {
  const { username = '', password = '' } = URL.canParse(text) ? new URL(text) : {};
  if (username || password)
    return 'the address contains a user name or a password, which must not be stored: remove them';
  return outboundProblem(text, policy);
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
  [first, ...others]: readonly [FoundAddress, ...FoundAddress[]],
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
      lookup: (_, options, done) =>
        options.all ? done(null, [first, ...others]) : done(null, first.address, first.family),
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
    const to = await untilAborted(checkedAddresses(url, rules), signal);
    const response = await answerOf(url, to, { ...message, signal });
    const answer = await beginningOf(response);
    response.destroy();
    return { status: response.statusCode ?? 0, answer };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
};
