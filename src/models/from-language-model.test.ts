import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { MockLanguageModelV4 } from 'ai/test';
import { afterEach, expect, test, vi } from 'vitest';
import type { ModelRequest } from '../core/ports/model.ts';
import { newId } from '../schema/ids.ts';
import { Message } from '../schema/message.ts';
import { fromLanguageModel } from './from-language-model.ts';

const usageOf = (input: number, output: number): LanguageModelV4Usage => ({
  inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: output, text: undefined, reasoning: undefined },
});
const finish = (usage = usageOf(5, 5)): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage,
});
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  instructions: '',
  messages: [{ id: newId('msg'), role: 'user', content: [{ type: 'text', text: 'Go' }] }],
  tools: [],
  settings: {},
  signal: new AbortController().signal,
  ...more,
});
const streaming = (...parts: LanguageModelV4StreamPart[]): LanguageModelV4 =>
  new MockLanguageModelV4({
    provider: 'mock.chat',
    modelId: 'm',
    doStream: async () => ({ stream: ReadableStream.from(parts) }),
  });
const answerOf = (parts: LanguageModelV4StreamPart[], options = {}) =>
  fromLanguageModel(streaming(...parts), options).answer(request(), () => {});
const isStorable = (content: unknown) => Message.safeParse({ id: newId('msg'), role: 'assistant', content }).success;

afterEach(() => void vi.useRealTimers());

test('[MODEL2] the provider metadata of a part is merged from all its chunks', async () => {
  const notes = (openai: Record<string, string | null>) => ({ providerMetadata: { openai } });
  const { parts } = await answerOf([
    { type: 'reasoning-start', id: 'rs:0', ...notes({ itemId: 'rs', reasoningEncryptedContent: null }) },
    { type: 'reasoning-start', id: 'rs:1', ...notes({ itemId: 'rs', reasoningEncryptedContent: 'unfinished' }) },
    { type: 'reasoning-delta', id: 'rs:1', delta: 'second' },
    { type: 'reasoning-delta', id: 'rs:0', delta: 'first' },
    { type: 'reasoning-end', id: 'rs:0' },
    { type: 'reasoning-end', id: 'rs:1', ...notes({ itemId: 'rs', reasoningEncryptedContent: 'sealed' }) },
    finish(),
  ]);
  expect(parts).toEqual([
    { type: 'reasoning', text: 'first', provider: { openai: { itemId: 'rs', reasoningEncryptedContent: null } } },
    { type: 'reasoning', text: 'second', provider: { openai: { itemId: 'rs', reasoningEncryptedContent: 'sealed' } } },
  ]);
});

test('[MODEL4] text that cannot be stored is cleaned, and invalid input is kept as text', async () => {
  const call = (toolCallId: string, input: string) =>
    ({ type: 'tool-call', toolCallId, toolName: 'read', input }) as const;
  const { parts, finish: end } = await answerOf([
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'a\u0000b\ud83d' },
    { type: 'text-delta', id: '1', delta: '\ude00 c\ud800' },
    { type: 'text-end', id: '1' },
    call('same', '{"path":"x\\u0000"}'),
    call('same', `${'['.repeat(101)}${']'.repeat(101)}`),
    call('', ''),
    finish(),
  ]);
  expect(parts[0]).toEqual({ type: 'text', text: 'a\uFFFDb😀 c\uFFFD' });
  expect(parts.slice(1)).toMatchObject([
    { callId: 'same', input: '{"path":"x\\u0000"}' },
    { callId: 'same_2', input: expect.stringMatching(/^\[+\]+$/) },
    { callId: expect.stringMatching(/^call_/), input: {} },
  ]);
  expect(end).toBe('tool-calls');
  expect(isStorable(parts)).toBe(true);
});

test('[MODEL1] a file in an answer is stored as its bytes or as its URL', async () => {
  const { parts } = await answerOf([
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
    { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a.png') } },
    finish(),
  ]);
  expect(parts).toEqual([
    { type: 'file', mediaType: 'image/png', data: 'AQID' },
    { type: 'text', text: 'image/png: https://example.com/a.png' },
  ]);
  expect(isStorable(parts)).toBe(true);
});

test('[MODEL6] an empty answer is reported as a broken stream, unless its usage contains output tokens', async () => {
  await expect(answerOf([finish(usageOf(5, 0))])).rejects.toMatchObject({
    failure: 'broken-stream',
    usage: { inputTokens: 5, outputTokens: 0 },
  });
  expect(await answerOf([finish(usageOf(5, 2))])).toMatchObject({ parts: [], finish: 'stop' });
});

test('[MODEL6] an answer stays valid if the connection breaks after its end', async () => {
  const { parts } = await answerOf([
    { type: 'text-delta', id: '1', delta: 'whole' },
    finish(),
    { type: 'error', error: new Error('socket closed') },
  ]);
  expect(parts).toEqual([{ type: 'text', text: 'whole' }]);
});

test('[MODEL9] the cost is unknown if the model has no price or the provider reports no token counts', async () => {
  const text: LanguageModelV4StreamPart = { type: 'text-delta', id: '1', delta: 'x' };
  const price = { input: 2, output: 4 };
  expect((await answerOf([text, finish()])).usage).toEqual({ inputTokens: 5, outputTokens: 5 });
  expect((await answerOf([text, finish(usageOf(0, 0))], { price })).usage).not.toHaveProperty('usd');
  expect((await answerOf([text, finish()], { price })).usage.usd).toBeCloseTo(30e-6, 12);
});

test('[MODEL9] cache writes have their own price', async () => {
  const usage = usageOf(100, 0);
  Object.assign(usage.inputTokens, { cacheRead: 50, cacheWrite: 30 });
  const price = { input: 1, output: 0, cachedInput: 0.1, cacheWrite: 2 };
  const { usage: used } = await answerOf([{ type: 'text-delta', id: '1', delta: 'x' }, finish(usage)], { price });
  expect(used.usd).toBeCloseTo((20 + 5 + 60) / 1e6, 12);
});

test('[MODEL7] each ping restarts the stall timer', async () => {
  vi.useFakeTimers();
  const pipe = new TransformStream<LanguageModelV4StreamPart>();
  const writer = pipe.writable.getWriter();
  const model = new MockLanguageModelV4({ doStream: async () => ({ stream: pipe.readable }) });
  const asking = fromLanguageModel(model, { stallMs: 1000 }).answer(request(), () => {});
  const failing = expect(asking).rejects.toMatchObject({ failure: 'timeout' });
  for (let beat = 0; beat < 5; beat++) {
    await vi.advanceTimersByTimeAsync(900);
    await writer.write({ type: 'ping' });
  }
  const settled = vi.fn();
  asking.catch(settled);
  await vi.advanceTimersByTimeAsync(900);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(200);
  await failing;
});

test('[MODEL7] a provider that ignores the abort signal is abandoned', async () => {
  const model = fromLanguageModel(new MockLanguageModelV4({ doStream: () => new Promise(() => {}) }), { stallMs: 20 });
  await expect(model.answer(request(), () => {})).rejects.toMatchObject({ failure: 'timeout' });
  const signal = AbortSignal.abort('gone');
  await expect(model.answer(request({ signal }), () => {})).rejects.toBe('gone');
});

test("[MODEL1] an agent's settings override those of the configuration", async () => {
  const model = streaming({ type: 'text-delta', id: '1', delta: 'x' }, finish()) as MockLanguageModelV4;
  const port = fromLanguageModel(model, { provider: { openai: { store: false, user: 'a' } } });
  const settings = { temperature: 0.5, maxOutputTokens: 9, provider: { openai: { store: true } } };
  await port.answer(request({ settings }), () => {});
  expect(port.name).toBe('mock/m');
  expect(model.doStreamCalls[0]).toMatchObject({
    temperature: 0.5,
    maxOutputTokens: 9,
    providerOptions: { openai: { store: true, user: 'a' } },
  });
});
