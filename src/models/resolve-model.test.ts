import { MockLanguageModelV4 } from 'ai/test';
import { expect, test } from 'vitest';
import type { ModelsConfig } from './models-config.ts';
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
  ['scripted/none', ['demo']],
  ['gpt-5', ['openai/NAME']],
  ['/x', ['anthropic/NAME']],
  [undefined, ['LanguageModelV4']],
])('[MODEL8] %s is not configured, and the message says what to set', async (model, hints) => {
  const refusal = await refusalOf(model);
  expect(refusal).toMatch(/^HOSTED_MODEL_UNAVAILABLE: /);
  for (const hint of hints) expect(refusal).toContain(hint);
});

test('[MODEL8] an empty key is no key', async () => {
  expect(await refusalOf('openai/gpt-5', { env: { OPENAI_API_KEY: '' } })).toContain('set OPENAI_API_KEY');
});

test('[MODEL8] an address that is none is told by where it was set', async () => {
  const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'not a url' };
  expect(await refusalOf('anthropic/claude-sonnet-5', { env })).toContain('ANTHROPIC_BASE_URL');
});

test('[MODEL8] a model passed in code is taken as it is, by its name in the configuration', async () => {
  const resolve = resolveModels({ models: { 'mock/m': { contextTokens: 9 } }, contextTokens: 77 });
  const mock = (modelId: string) => new MockLanguageModelV4({ provider: 'mock.chat', modelId });
  expect(await resolve(mock('m'))).toMatchObject({ name: 'mock/m', contextTokens: 9 });
  expect(await resolve(mock('other'))).toMatchObject({ name: 'mock/other', contextTokens: 77 });
  const model = await resolve('scripted/demo');
  expect(await resolve(model)).toBe(model);
  const old = { specificationVersion: 'v2', provider: 'old', modelId: 'm', doStream: () => {} };
  expect(await refusalOf(old)).toContain('v4 is needed');
});

test('[MODEL8] names lead to providers, by configuration or environment', async () => {
  const config: ModelsConfig = {
    env: { ANTHROPIC_API_KEY: 'k', PERDURE_PROVIDER_LM_STUDIO_BASE_URL: 'http://127.0.0.1:1/v1' },
    providers: { ollama: { baseUrl: 'http://127.0.0.1:1/v1', api: 'chat' } },
    models: { 'ollama/qwen3': { contextTokens: 32_000 } },
    scripts: [defineScript({ name: 'mine', steps: [{ text: 'x' }] })],
  };
  const resolve = resolveModels(config);
  expect(await resolve('ollama/qwen3')).toMatchObject({ name: 'ollama/qwen3', contextTokens: 32_000 });
  expect(await resolve('lm-studio/org/model')).toMatchObject({ name: 'lm-studio/org/model', contextTokens: 128_000 });
  expect(await resolve('anthropic/claude-sonnet-5')).toMatchObject({ name: 'anthropic/claude-sonnet-5' });
  expect(await resolve('scripted/mine')).toMatchObject({ name: 'scripted/mine' });
  expect(await resolve('ollama/qwen3')).toBe(await resolve('ollama/qwen3'));
});
