import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelRequest } from '../../src/core/ports/model.ts';
import { defineAgent, defineTool, openRuntime } from '../../src/index.ts';
import { newFolder } from '../support/files/start-run-files.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const usage = { inputTokens: 1, outputTokens: 1 };
const mib = 1024 * 1024;
const limit = 2 * mib;

const fill = defineTool({
  name: 'fill',
  input: z.object({}),
  usesFiles: true,
  execute: (_, { folder }) => {
    writeFileSync(join(folder!, 'large.bin'), randomBytes(3 * mib));
    return 'filled';
  },
});
const tidy = defineTool({
  name: 'tidy',
  input: z.object({}),
  usesFiles: true,
  execute: (_, { folder }) => {
    rmSync(join(folder!, 'large.bin'));
    writeFileSync(join(folder!, 'small.txt'), 'small');
    return 'tidied';
  },
});
const keep = defineTool({
  name: 'keep',
  input: z.object({}),
  execute: async (_, { keepArtifact }) => {
    await keepArtifact('report.bin', randomBytes(3 * mib));
    return 'kept';
  },
});
const steps = ['fill', 'tidy', 'keep'];

/** Calls each tool once, in this order. */
const start = async (kind: (typeof storeKinds)[number]) => {
  const place = await newStorePlace(kind);
  onTestFinished(place.remove);
  const requests: ModelRequest[] = [];
  const model: Model = {
    name: 'test/model',
    contextTokens: 100_000,
    price: null,
    answer: async (request) => {
      const tool = steps[requests.push(request) - 1];
      return tool === undefined
        ? { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage }
        : { parts: [{ type: 'tool-call', callId: `call_${tool}`, tool, input: {} }], finish: 'tool-calls', usage };
    },
  };
  const agent = defineAgent({ name: 'maker', model, tools: [fill, tidy, keep] });
  const options = { store: place.address, data: await newFolder(), agents: [agent], onWarning: () => undefined };
  const runtime = await openRuntime(options);
  onTestFinished(() => runtime.close());
  return { runtime, agent, requests };
};

test.each(storeKinds)('[QUO18] a call whose files exceed the quota fails, and the run goes on (%s)', async (kind) => {
  const { runtime, agent, requests } = await start(kind);
  await runtime.workspaces.setQuota('local', { bytes: limit });
  const session = await runtime.sessions.open({ agent });
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  expect((await session.toolCalls()).calls.toReversed()).toMatchObject([
    { tool: 'fill', status: 'threw' },
    { tool: 'tidy', status: 'ok' },
    { tool: 'keep', status: 'threw' },
  ]);
  const results = requests.slice(1).map(({ messages }) => JSON.stringify(messages.at(-1)!.content));
  expect(results[0]).toMatch(/the call ran, but its file changes are not recorded yet: the quota of .* 2097152 bytes/);
  expect(results[0]).toContain('it returned: filled');
  expect(results[2]).toContain('the quota of the workspace local is 2097152 bytes');
  const failed = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'tool.failed');
  expect(failed).toMatchObject([1, 2].map(() => ({ payload: { error: { name: 'QuotaExceeded' } } })));
  expect((await session.files.list()).map(({ path }) => path)).toEqual(['small.txt']);
});

test.each(storeKinds)('[QUO16] files, artifacts and bundles beyond the quota are refused (%s)', async (kind) => {
  const { runtime, agent } = await start(kind);
  const elsewhere = runtime.as({ workspace: 'other', member: 'ann', role: 'admin' });
  const foreign = await elsewhere.sessions.open({ agent });
  await foreign.files.write('large.bin', randomBytes(3 * mib));
  const bundle = await Array.fromAsync(foreign.export());
  await runtime.workspaces.setQuota('local', { bytes: limit });
  const session = await runtime.sessions.open({ agent });
  const refusal = { code: 'QUOTA_EXCEEDED', details: { quota: 'bytes', limit, changedBy: 'operator' } };
  const content = randomBytes(mib);
  await session.files.write('one.bin', content);
  await session.files.write('copy.bin', content);
  const head = (await session.summary()).seq;
  await expect(session.files.write('two.bin', randomBytes(mib))).rejects.toMatchObject(refusal);
  await expect(session.artifacts.keep('two.bin', randomBytes(mib))).rejects.toMatchObject(refusal);
  await expect(
    runtime.sessions.import(
      (async function* () {
        yield* bundle;
      })(),
    ),
  ).rejects.toMatchObject(refusal);
  expect((await session.summary()).seq).toBe(head);
  expect((await runtime.sessions.list()).sessions).toHaveLength(1);
});
