import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelRequest } from '../../src/core/ports/model.ts';
import { defineAgent, defineTool, openRuntime, type Runtime } from '../../src/index.ts';
import { subagent } from '../../src/tools/index.ts';
import { newFolder } from '../support/files/start-run-files.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
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

const answering = (parts: (isFirst: boolean) => Awaited<ReturnType<Model['answer']>>['parts']): Model => ({
  name: 'test/model',
  contextTokens: 100_000,
  price: null,
  answer: async ({ messages }) => {
    const isFirst = messages.at(-1)!.role !== 'tool';
    return { parts: parts(isFirst), finish: isFirst ? 'tool-calls' : 'stop', usage };
  },
});
const calling = (tool: string, input = {}): Model =>
  answering((isFirst) =>
    isFirst ? [{ type: 'tool-call', callId: `call_${tool}`, tool, input }] : [{ type: 'text', text: 'Done.' }],
  );
const keeper = defineAgent({ name: 'keeper', model: calling('keep'), tools: [keep] });
const boss = defineAgent({
  name: 'boss',
  model: calling('keeper', { task: 'Keep it' }),
  tools: [subagent(keeper)],
});

/** The bytes of the quota that count for a member beside its logs, which count in steps of 64 KiB. */
const filesOf = async (runtime: Runtime, workspace: string): Promise<Record<string, number>> => {
  const admin = runtime.as({ workspace, member: 'root', role: 'admin' });
  const { used } = await admin.quotas.list();
  return Object.fromEntries(used.map(({ member = '', bytes }) => [member, Math.floor(bytes / mib)]));
};

test.each(storeKinds)('[QUO19] files count for the member who stores them, however they do it (%s)', async (kind) => {
  const place = await newStorePlace(kind);
  onTestFinished(place.remove);
  const runtime = await openRuntime({ store: place.address, data: await newFolder(), agents: [keeper, boss] });
  onTestFinished(() => runtime.close());
  await runtime.workspaces.add('acme');
  const [root, ann, bob] = ['root', 'ann', 'bob'].map((member) =>
    runtime.as({ workspace: 'acme', member, role: 'admin' }),
  );
  await root!.quotas.set({ bytes: 100 * mib });
  const used = () => filesOf(runtime, 'acme');

  const session = await ann!.sessions.open({ agent: keeper });
  const content = randomBytes(2 * mib);
  await session.files.write('one.bin', content);
  await session.artifacts.keep('one.bin', content);
  expect(await used()).toEqual({ '': 2, ann: 2 });
  const shared = await bob!.sessions.get(session.id);
  await shared.files.write('same.bin', content);
  expect(await used()).toEqual({ '': 2, ann: 2, bob: 0 });
  await shared.files.write('two.bin', randomBytes(2 * mib));
  const fork = await shared.fork();
  await fork.artifacts.keep('fork.bin', randomBytes(2 * mib));
  expect(await used()).toEqual({ '': 6, ann: 2, bob: 4 });

  expect(await (await shared.send('Keep it')).result()).toMatchObject({ status: 'succeeded' });
  expect(await used()).toEqual({ '': 9, ann: 2, bob: 7 });
  const parent = await bob!.sessions.open({ agent: boss });
  expect(await (await parent.send('Let it be kept')).result()).toMatchObject({ status: 'succeeded' });
  expect(await used()).toEqual({ '': 12, ann: 2, bob: 10 });

  const elsewhere = runtime.as({ workspace: 'other', member: 'ann', role: 'admin' });
  const foreign = await elsewhere.sessions.open({ agent: keeper });
  await foreign.files.write('large.bin', randomBytes(2 * mib));
  await bob!.sessions.import(foreign.export());
  const counted = { '': 14, ann: 2, bob: 12 };
  expect(await used()).toEqual(counted);

  await root!.quotas.set({ bytes: 13 * mib }, { member: 'bob' });
  expect(await used()).toEqual(counted);
  const refusal = {
    code: 'QUOTA_EXCEEDED',
    message: expect.stringContaining('an admin of acme can change it with `perdure quotas set bob --bytes …`'),
    details: { quota: 'bytes', member: 'bob', changedBy: 'admin' },
  };
  await expect(shared.files.write('three.bin', randomBytes(2 * mib))).rejects.toMatchObject(refusal);
  await expect(fork.artifacts.keep('three.bin', randomBytes(2 * mib))).rejects.toMatchObject(refusal);
  await foreign.files.write('more.bin', randomBytes(2 * mib));
  await expect(bob!.sessions.import(foreign.export())).rejects.toMatchObject(refusal);
  expect(await (await shared.send('Keep it again')).result()).toMatchObject({ status: 'succeeded' });
  const { calls } = await shared.toolCalls();
  expect(calls.map(({ status }) => status)).toEqual(['threw', 'ok']);
  expect(await used()).toEqual(counted);
  await session.files.write('three.bin', randomBytes(2 * mib));
  expect(await used()).toEqual({ ...counted, '': 16, ann: 4 });
});

test.each(storeKinds)(
  '[QUO19] files that a crash kept out of the log count until gc removes them (%s)',
  async (kind) => {
    const place = await newStorePlace(kind);
    onTestFinished(place.remove);
    const real = await openStoreAt(place.address);
    let isCrashing = false;
    const store = overrideStore(real, {
      append: (request) => (isCrashing ? Promise.reject(new Error('crashed')) : real.append(request)),
    });
    const runtime = await openRuntime({ store, data: await newFolder(), agents: [keeper] });
    onTestFinished(() => runtime.close());
    await runtime.workspaces.setQuota('local', { bytes: 100 * mib });
    const ann = runtime.as({ workspace: 'local', member: 'ann', role: 'member' });
    const session = await ann.sessions.open({ agent: keeper });
    const [lost, retried] = [randomBytes(2 * mib), randomBytes(2 * mib)];
    isCrashing = true;
    await expect(session.files.write('lost.bin', lost)).rejects.toThrow('crashed');
    await expect(session.files.write('retried.bin', retried)).rejects.toThrow('crashed');
    isCrashing = false;
    const used = () => filesOf(runtime, 'local');
    expect(await used()).toEqual({ '': 4, ann: 4 });
    await session.files.write('retried.bin', retried);
    expect(await used()).toEqual({ '': 4, ann: 4 });
    const ageing = { sqlite: 'put_at = put_at - 600000', postgres: `put_at = put_at - interval '10 min'` };
    await place.edit((_, prefix) => `update ${prefix}blobs set ${ageing[kind]}`);
    await runtime.gc({ graceMs: 0 });
    expect(await used()).toEqual({ '': 2, ann: 2 });
    expect(await session.files.read('retried.bin')).toEqual(new Uint8Array(retried));
  },
);
