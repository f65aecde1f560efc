import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, test } from 'vitest';
import type { ModelsConfig, ProviderConfig } from './models-config.ts';
import { missingOf, providerFor } from './providers.ts';
import { resolveModels } from './resolve-model.ts';
import { defineScript } from './script.ts';

const refusalOf = (model: unknown, config: ModelsConfig = {}) =>
  resolveModels({ env: {}, ...config })(model).then(
    () => '',
    ({ code, message }) => `${code}: ${message}`,
  );

test.each([
  ['anthropic/claude-sonnet-5', ['ANTHROPIC_API_KEY', 'perdure.config.ts']],
  ['openai/gpt-5', ['OPENAI_API_KEY', 'perdure.config.ts']],
  [
    'open-router/qwen/qwen3',
    ['PERDURE_PROVIDER_OPEN_ROUTER_BASE_URL', 'PERDURE_PROVIDER_OPEN_ROUTER_API_KEY', 'perdure.config.ts'],
  ],
  ['scripted/none', ['scripted/demo', 'defineScript']],
  ['gpt-5', ['openai/NAME']],
  ['/x', ['anthropic/NAME']],
  [undefined, ['LanguageModelV4']],
])('[MODEL8] the error for the unconfigured model %s says what to set', async (model, hints) => {
  const refusal = await refusalOf(model);
  expect(refusal).toMatch(/^HOSTED_MODEL_UNAVAILABLE: /);
  for (const hint of hints) expect(refusal).toContain(hint);
});

test('[MODEL8, MODEL15] an empty or blank API key is treated as missing', async () => {
  for (const key of ['', ' ', '\n']) {
    expect(await refusalOf('openai/gpt-5', { env: { OPENAI_API_KEY: key } })).toContain(
      'set OPENAI_API_KEY, or models.providers.openai.apiKey in perdure.config.ts or openRuntime',
    );
    expect(await refusalOf('openai/gpt-5', { env: {}, providers: { openai: { apiKey: key } } })).toContain(
      'set OPENAI',
    );
  }
});

test('[MODEL8] the error for an invalid base URL names the variable that holds it', async () => {
  const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'not a url' };
  expect(await refusalOf('anthropic/claude-sonnet-5', { env })).toContain(
    'its base URL is not an http or https URL: correct ANTHROPIC_BASE_URL',
  );
});

test('[MODEL12] a base URL that is invalid or contains a password is rejected without repeating it', async () => {
  for (const baseUrl of ['https://ann:hunter2@example.com/v1', 'ann:hunter2@@example .com']) {
    const refusal = await refusalOf('gateway/m', { providers: { gateway: { baseUrl } } });
    expect(refusal).toContain('PERDURE_PROVIDER_GATEWAY_BASE_URL');
    expect(refusal).not.toContain('hunter2');
  }
});

const refusedBy = async (message: (headers: IncomingHttpHeaders) => string, provider: ProviderConfig) => {
  const server = createServer(({ headers }, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: message(headers) } }));
  }).listen(0);
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const model = await resolveModels({ env: {}, providers: { gateway: { ...provider, baseUrl } } })('gateway/m');
  const signal = new AbortController().signal;
  const request = { instructions: '', messages: [], tools: [], settings: {}, signal };
  const failure = await model.answer(request, () => undefined).catch((error) => error);
  server.close();
  return failure;
};

test('[MODEL12] a key or header that a server repeats in its error is removed from the message', async () => {
  const failure = await refusedBy(({ authorization, 'x-team': team }) => `no such key: ${authorization} of ${team}`, {
    apiKey: ' sk-very-secret\n',
    headers: { 'x-team': 'team-secret' },
  });
  expect(failure).toMatchObject({
    failure: 'unusable',
    message: expect.stringContaining('no such key: Bearer … of …'),
  });
  expect(inspect(failure, { depth: 9 })).not.toContain('secret');
});

test('[MODEL12] a key too short to distinguish from ordinary words stays in the message', async () => {
  for (const apiKey of ['k', 'ollama']) {
    const failure = await refusedBy(() => 'invalid x-api-key for ollama', { apiKey });
    expect(failure.message).toContain('invalid x-api-key for ollama');
  }
});

test('[MODEL8] a model object is used directly, with the configuration of its name', async () => {
  const resolve = resolveModels({ models: { 'mock/m': { contextTokens: 9 } }, contextTokens: 77 });
  const mock = (modelId: string) => new MockLanguageModelV4({ provider: 'mock.chat', modelId });
  expect(await resolve(mock('m'))).toMatchObject({ name: 'mock/m', contextTokens: 9 });
  expect(await resolve(mock('other'))).toMatchObject({ name: 'mock/other', contextTokens: 77 });
  const model = await resolve('scripted/demo');
  expect(await resolve(model)).toBe(model);
  const old = { specificationVersion: 'v2', provider: 'old', modelId: 'm', doStream: () => {} };
  expect(await refusalOf(old)).toContain('v4 is needed');
});

test('[MODEL14] a model made from a script is named after it, or `script` by default, and is configured under that name', async () => {
  const resolve = resolveModels({ models: { 'scripted/mine': { contextTokens: 9 } } });
  const steps = [{ text: 'x' }];
  expect(await resolve(defineScript({ name: 'mine', steps }))).toMatchObject({
    name: 'scripted/mine',
    contextTokens: 9,
  });
  expect(await resolve(defineScript({ steps }))).toMatchObject({ name: 'scripted/script' });
  expect(await refusalOf({ steps: [] })).toBe('INVALID_INPUT: the script "script" has no steps');
});

test('[MODEL8] a name resolves to a provider through the configuration or the environment', async () => {
  const config: ModelsConfig = {
    env: { ANTHROPIC_API_KEY: 'k', PERDURE_PROVIDER_LM_STUDIO_BASE_URL: 'http://127.0.0.1:1/v1' },
    providers: { ollama: { baseUrl: 'http://127.0.0.1:1/v1', api: 'chat' } },
    models: { 'ollama/qwen3': { contextTokens: 32_000 } },
  };
  const resolve = resolveModels(config);
  expect(await resolve('ollama/qwen3')).toMatchObject({ name: 'ollama/qwen3', contextTokens: 32_000 });
  expect(await resolve('lm-studio/org/model')).toMatchObject({ name: 'lm-studio/org/model', contextTokens: 128_000 });
  expect(await resolve('anthropic/claude-sonnet-5')).toMatchObject({ name: 'anthropic/claude-sonnet-5' });
  expect(await resolve('ollama/qwen3')).toBe(await resolve('ollama/qwen3'));
});

test('[FALL12, MODEL8] a model whose package is missing, and one without a key, say what to do; nothing is loaded', () => {
  const env = { ANTHROPIC_API_KEY: 'some-key', PERDURE_PROVIDER_LOCAL_BASE_URL: 'http://127.0.0.1:1/v1' };
  const missing = (name: string, isThere: boolean) => missingOf(providerFor(name, undefined, env), () => isThere);
  expect(missing('anthropic', true)).toBeUndefined();
  expect(missing('anthropic', false)).toBe('its package is not installed: run `npm install @ai-sdk/anthropic`');
  expect(missing('local', false)).toContain('@ai-sdk/openai-compatible');
  expect(missing('openai', true)).toContain('set OPENAI_API_KEY');
  const { problem } = resolveModels({ env });
  expect(problem('anthropic/a')).toBeUndefined();
  expect(problem('local/a')).toBeUndefined();
  expect(problem('openai/a')).toContain('set OPENAI_API_KEY');
  expect(problem('scripted/other')).toContain('defineScript');
  expect(problem('nonsense')).toContain('name it as');
  expect(problem(undefined)).toContain('set `model`');
  expect(problem(7)).toContain('name it as');
  expect(problem({ specificationVersion: 'v2', doStream: () => undefined })).toContain('v4 is needed');
});

test('[FALL11] the advice names the header if the key is in a header, and that no key was sent if there is none', () => {
  const advice = (config: ProviderConfig) => providerFor('gateway', config, {}).keyAdvice;
  expect(advice({ headers: { 'x-api-key': 'a-secret-key', 'x-team': 'team' } })).toBe(
    'check the key, which came from the option models.providers.gateway.headers (x-api-key)',
  );
  expect(advice({})).toBe(
    'set PERDURE_PROVIDER_GATEWAY_API_KEY or models.providers.gateway.apiKey, because no key was sent',
  );
});
