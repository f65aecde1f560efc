import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../../test/support/runs/scripted-model.ts';
import { startCollector } from '../../../test/support/runs/span-collector.ts';
import { noSpans } from '../../core/ports/spans.ts';
import { defineAgent, defineTool, openRuntime } from '../../index.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { startTracing } from './open-telemetry.ts';

const fails = (problem: unknown) => {
  throw problem;
};

const hidden = 'content that must stay private';
const shout = defineTool({
  name: 'shout',
  input: z.object({ what: z.string() }),
  effects: 'none',
  execute: ({ what }) => `${what}!`,
});
const stumble = defineTool({
  name: 'stumble',
  input: z.object({}),
  execute: () => {
    throw new Error(hidden);
  },
});

test('[OBS3, OBS5] a run, each model call and each tool call is a span, correctly nested, and spans contain no message text', async () => {
  const collector = await startCollector();
  const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, fails);
  const agent = defineAgent({
    name: 'crier',
    version: 1,
    instructions: hidden,
    model: scriptedModel([
      { id: 'c1', tool: 'shout', input: { what: hidden } },
      { id: 'c2', tool: 'stumble', input: {} },
    ]),
    tools: [shout, stumble],
  });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [agent], worker: false, spans: tracing.spans });
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent, title: hidden });
  const run = await session.send(hidden);
  expect((await run.result()).status).toBe('succeeded');
  await runtime.close();
  await tracing.stop();

  const spans = collector.spans();
  const [invoked] = spans.filter(({ name }) => name === 'invoke_agent crier');
  const chats = spans.filter(({ name }) => name.startsWith('chat '));
  const calls = ['shout', 'stumble'].map((tool) => spans.find(({ name }) => name === `execute_tool ${tool}`)!);
  expect(spans).toHaveLength(5);
  const common = {
    'gen_ai.conversation.id': session.id,
    'gen_ai.agent.name': 'crier',
    'perdure.workspace': 'local',
    'perdure.run.id': run.id,
  };
  expect(invoked).toMatchObject({ kind: 1, status: { code: 0 } });
  expect(invoked).not.toHaveProperty('parentSpanId', expect.stringMatching(/./));
  expect(invoked!.attributes).toMatchObject({
    ...common,
    'gen_ai.operation.name': 'invoke_agent',
    'perdure.run.status': 'succeeded',
  });
  expect(chats.map(({ kind, name }) => [kind, name])).toEqual([1, 2].map(() => [3, chats[0]!.name]));
  expect(chats.map(({ attributes }) => attributes)).toMatchObject([
    {
      ...common,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': expect.any(String),
      'gen_ai.request.model': chats[0]!.name.replace('chat ', ''),
      'gen_ai.usage.input_tokens': 1,
      'gen_ai.usage.output_tokens': 1,
      'gen_ai.response.finish_reasons': ['tool-calls'],
    },
    { 'gen_ai.response.finish_reasons': ['stop'] },
  ]);
  expect(calls.map(({ attributes, status }) => [status.code, attributes])).toMatchObject([
    [
      0,
      { ...common, 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'shout', 'gen_ai.tool.call.id': 'c1' },
    ],
    [2, { 'gen_ai.tool.name': 'stumble', 'gen_ai.tool.call.id': 'c2', 'error.type': 'threw' }],
  ]);
  for (const span of [...chats, ...calls]) {
    expect(span).toMatchObject({ parentSpanId: invoked!.spanId, traceId: invoked!.traceId });
  }
  const [{ resourceSpans }] = collector.requests();
  expect(JSON.stringify(resourceSpans[0].resource)).toContain('"perdure"');
  for (const body of collector.bodies) {
    expect(body.startsWith('/v1/traces ')).toBe(true);
    expect(body).not.toContain(hidden);
  }
});

test('[OBS3, OBS7] the spans of a failed model call and a failed run carry the type of their failure', async () => {
  const collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/here`, OTEL_SERVICE_NAME: 'mine' };
  const tracing = await startTracing(env, fails);
  const model = scriptedModel();
  model.doStream = () => Promise.reject(new Error(hidden));
  model.doGenerate = () => Promise.reject(new Error(hidden));
  const agent = defineAgent({ name: 'mute', version: 1, model });
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [agent],
    worker: false,
    spans: tracing.spans,
    timing: { modelBackoffMs: 1 },
  });
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent });
  expect((await (await session.send('x')).result()).status).toBe('failed');
  await runtime.close();
  await tracing.stop();
  const failed = collector.spans().map(({ name, status, attributes }) => [name, status.code, attributes['error.type']]);
  expect(failed.at(-1)).toEqual(['invoke_agent mute', 2, expect.stringMatching(/^MODEL_/)]);
  expect(failed[0]).toEqual([expect.stringMatching(/^chat /), 2, expect.any(String)]);
  expect(collector.bodies[0]).toMatch(/^\/here /);
  expect(collector.bodies.join()).not.toContain(hidden);
  expect(collector.bodies.join()).toContain('"mine"');
});

test('[OBS6] without a receiver nothing is loaded, and missing packages cause a warning that says what to install', async () => {
  const load = vi.fn(() => Promise.reject(new Error('not found')));
  const onWarning = vi.fn();
  expect((await startTracing({}, onWarning, load)).spans).toBe(noSpans);
  expect(load).not.toHaveBeenCalled();
  const { spans, stop } = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, onWarning, load);
  expect(spans).toBe(noSpans);
  expect(String(onWarning.mock.calls[0]![0])).toContain('npm install @opentelemetry/sdk-trace');
  await stop();
});
