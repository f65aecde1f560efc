import { APICallError, LoadAPIKeyError } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { toFailure } from './to-failure.ts';

const context = {
  model: 'local/m',
  keyAdvice: 'check the key, which came from the environment variable KEY',
  urlName: 'URL',
  streaming: false,
};
const called = (statusCode: number | undefined, message: string, more: object = {}) =>
  new APICallError({ message, url: 'http://x', requestBodyValues: { secret: true }, statusCode: statusCode!, ...more });
const coded = (code: string) => Object.assign(new Error('socket'), { code });

test.each([
  'prompt is too long: 213462 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
  "This model's maximum context length is 128000 tokens. However, you requested 130000 tokens",
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  'the request exceeds the available context size. try increasing the context size',
  'Input is too long for requested model.',
  'Please reduce the length of the messages or completion.',
  "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
  'input length exceeds maximum context length',
])('[MODEL5] this message is classified as an overflow: %s', (message) => {
  expect(toFailure(called(400, message), context).failure).toBe('overflow');
});

test.each([
  'max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens',
  'messages.0.content: Field required',
  'Invalid value for temperature',
])('[MODEL5] this message is classified as a refusal, not as an overflow: %s', (message) => {
  expect(toFailure(called(400, message), context)).toMatchObject({ failure: 'refused' });
});

test('[MODEL5, FALL2] an exhausted quota makes the model unusable, and is no rate limit', () => {
  const data = { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } };
  const failure = toFailure(called(429, 'You exceeded your current quota', { data }), context);
  expect(failure.failure).toBe('unusable');
  expect(failure.message).toContain('check the credit');
});

test('[MODEL5] a socket error is classified as unavailable, timeout or broken stream', () => {
  const wrapped = (code: string) => called(undefined, 'Cannot connect to API', { cause: coded(code) });
  expect(toFailure(wrapped('ECONNREFUSED'), context).failure).toBe('unavailable');
  expect(toFailure(wrapped('ENOTFOUND'), context).failure).toBe('unavailable');
  expect(toFailure(wrapped('UND_ERR_CONNECT_TIMEOUT'), context).failure).toBe('timeout');
  expect(toFailure(new TypeError('terminated'), { ...context, streaming: true }).failure).toBe('broken-stream');
});

test('[MODEL5, FALL2] a missing API key makes the model unusable', () => {
  expect(toFailure(new LoadAPIKeyError({ message: 'no key' }), context).failure).toBe('unusable');
});

test.each([401, 402, 403, 404])('[FALL2] HTTP %d makes the model unusable', (status) => {
  expect(toFailure(called(status, 'no'), context).failure).toBe('unusable');
});

test.each(['Your input was flagged', 'content_policy_violation', 'requires moderation'])(
  '[FALL3] a 403 for the content is a refusal of the request: %s',
  (message) => {
    expect(toFailure(called(403, message), context).failure).toBe('refused');
  },
);

test('[MODEL5] an error inside a stream is classified by its code', () => {
  const frame = (code: string) => ({ message: 'as told', code, data: { error: { code } } });
  const kinds = { rate_limit_exceeded: 'rate-limit', server_error: 'unavailable', context_length_exceeded: 'overflow' };
  for (const [code, kind] of Object.entries(kinds)) {
    expect(toFailure(frame(code), { ...context, streaming: true }).failure).toBe(kind);
  }
  expect(toFailure('just words\u0000', { ...context, streaming: true })).toMatchObject({
    failure: 'broken-stream',
    message: 'local/m broke off its answer: just words\uFFFD',
  });
});

test('[MODEL5] a failure does not contain the conversation', () => {
  expect(toFailure(called(500, 'oops'), context).cause).toBeUndefined();
});
