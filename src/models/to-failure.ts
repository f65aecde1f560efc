import { ModelFailure } from '../core/ports/model.ts';
import type { ModelFailureKind } from '../schema/run.ts';
import { storable } from './storable.ts';

export interface FailureContext {
  readonly model: string;
  /** Names where the provider's key came from, such as an environment variable. Undefined if only its SDK knows. */
  readonly keyAdvice: string | undefined;
  /** The environment variable that holds the provider's base URL, such as ANTHROPIC_BASE_URL. */
  readonly urlName: string | undefined;
  readonly secrets?: readonly string[] | undefined;
  /** Whether the answer had begun. */
  readonly streaming: boolean;
}

/** The fields that SDK errors, error frames of streams and fetch errors have in common. */
interface Trouble {
  readonly name: string;
  readonly message: string;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** All error codes and types of the provider and the socket, joined. */
  readonly codes: string;
  readonly cause: unknown;
}

type Loose = { readonly [key: string]: unknown };
const loose = (value: unknown): Loose => (typeof value === 'object' && value !== null ? (value as Loose) : {});

const chainOf = (error: unknown): readonly Loose[] => {
  const chain: Loose[] = [];
  for (let each = error; typeof each === 'object' && each !== null && chain.length < 8; each = loose(each).cause) {
    chain.push(loose(each));
  }
  return chain;
};

const parsed = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
};

const troubleOf = (error: unknown): Trouble => {
  const { name, message, statusCode, responseHeaders, responseBody, data } = loose(error);
  const body = loose(data ?? parsed(responseBody));
  const inner = [loose(body.error), loose(loose(body.response).error), body, loose(loose(error).error)];
  const texts = [typeof error === 'string' ? error : message, ...inner.map((each) => each.message)];
  const codes = [...chainOf(error), ...inner].flatMap(({ code, type }) => [code, type]);
  return {
    name: String(name ?? ''),
    message: texts.find((text): text is string => typeof text === 'string' && text !== '') ?? '',
    status: typeof statusCode === 'number' ? statusCode : undefined,
    headers: responseHeaders as Trouble['headers'],
    codes: codes.filter((code) => typeof code === 'string').join(' '),
    // An APICallError holds the whole conversation, which must not reach a log.
    cause: statusCode === undefined && responseBody === undefined ? error : undefined,
  };
};

const tooLong =
  /context_length_exceeded|exceed_context_size|model_context_window_exceeded|request_too_large|(prompt|input|context|request) (is|was) too (long|large)|too long for|exceeds? (the )?(model'?s? )?(available |maximum )?(context|prompt length|input length)|(maximum|max) (context|prompt|input) (length|size|tokens)|input token count.*exceeds|exceeds? the maximum number of (input )?tokens|reduce the length of (the|your) (messages|prompt|input)/i;
const quotaGone = /insufficient_quota|billing|credit_balance|exceeded_current_quota/i;
const slow = /TIMEDOUT|_TIMEOUT|TimeoutError/;
const limited = /rate_?limit|too_many_requests/i;
const overloaded = /overloaded|unavailable|server_error|api_error/i;
const ourSetup = /^AI_(LoadAPIKey|LoadSetting|NoSuchModel)Error$/;
const ourRequest = /^AI_(UnsupportedFunctionality|InvalidPrompt|InvalidArgument)Error$/;

/** Matches refusals of the content, which some providers send with status 403. */
const contentRefused = /moderation|content_?(policy|filter)|safety|flagged/i;

const kindByStatus = (status: number, { codes, message }: Trouble): ModelFailureKind => {
  if (status === 429) return quotaGone.test(codes) ? 'unusable' : 'rate-limit';
  if (status === 403 && contentRefused.test(`${codes} ${message}`)) return 'refused';
  if (status >= 401 && status <= 404) return 'unusable';
  if (status === 408) return 'timeout';
  if (status >= 500) return 'unavailable';
  return status >= 400 ? 'refused' : 'broken-stream';
};

const kindOf = (trouble: Trouble, streaming: boolean): ModelFailureKind => {
  const { name, message, status, codes } = trouble;
  if (status !== 429 && tooLong.test(`${codes} ${message}`)) return 'overflow';
  if (status === 413) return 'overflow';
  if (status !== undefined) return kindByStatus(status, trouble);
  if (ourSetup.test(name)) return 'unusable';
  if (ourRequest.test(name)) return 'refused';
  if (slow.test(`${codes} ${name}`)) return 'timeout';
  if (limited.test(codes)) return 'rate-limit';
  if (overloaded.test(codes)) return 'unavailable';
  const isConnection = name === 'AI_APICallError' || name === 'TypeError';
  return isConnection && !streaming ? 'unavailable' : 'broken-stream';
};

const said: Readonly<Record<ModelFailureKind, string>> = {
  overflow: 'reports that the conversation is too long',
  'rate-limit': 'reports a rate limit',
  unavailable: 'is not available',
  timeout: 'did not answer in time',
  'broken-stream': 'broke off its answer',
  endless: 'went on beyond its limits',
  refused: 'refused the request',
  unusable: 'refused the request',
  unconfigured: 'is not configured',
  excluded: 'is excluded by a quota',
};

/** Advice on what to check; undefined if only the provider's own message is known. */
const adviceFor = (kind: ModelFailureKind, trouble: Trouble, context: FailureContext): string | undefined => {
  const { status, codes } = trouble;
  const url = `the base URL${context.urlName ? ` (${context.urlName})` : ''}`;
  if (kind === 'unavailable' && status === undefined && !overloaded.test(codes)) {
    return `check the network, ${url}, and that something answers there`;
  }
  if (kind !== 'unusable') return undefined;
  const key = context.keyAdvice ?? 'check the key that the AI SDK model was created with';
  if (status === 404) return `check the model's name and ${url}`;
  if (status === 403) return `check that the account may use this model, and ${key}`;
  if (status === 402 || status === 429) return `check the credit of the account, and ${key}`;
  return key;
};

const longest = 2000;

type Headers = Readonly<Record<string, string | undefined>>;

const nonNegative = (text: string | undefined): number | undefined => {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
};

/** The delay that a provider requests: milliseconds in `retry-after-ms`, or seconds or a date in `retry-after`. */
const retryAfterMs = (headers: Headers | undefined, nowMs: number): number | undefined => {
  const ms = nonNegative(headers?.['retry-after-ms']);
  if (ms !== undefined) return Math.round(ms);
  const text = headers?.['retry-after'];
  const seconds = nonNegative(text);
  if (seconds !== undefined) return Math.round(seconds * 1000);
  const date = Date.parse(text ?? '');
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
};

export const toFailure = (error: unknown, context: FailureContext, nowMs = Date.now()): ModelFailure => {
  const trouble = troubleOf(error);
  const { status } = trouble;
  const kind = kindOf(trouble, context.streaming);
  const code = status === undefined ? '' : ` (HTTP ${status})`;
  const advice = adviceFor(kind, trouble, context);
  const message = (context.secrets ?? []).reduce((text, secret) => text.replaceAll(secret, '…'), trouble.message);
  const words = storable(message.slice(0, longest));
  const parts = [`${context.model} ${said[kind]}${code}`, advice ? words.replace(/[\s.]+$/, '') : words, advice];
  return new ModelFailure(kind, parts.filter(Boolean).join(': '), {
    retryAfterMs: retryAfterMs(trouble.headers, nowMs),
    cause: trouble.cause,
  });
};
