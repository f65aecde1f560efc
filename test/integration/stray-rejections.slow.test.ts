import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Tool } from '../../src/core/ports/tool.ts';
import { defineAgent, defineTool, openRuntime, type Runtime } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { mcpTools } from '../../src/tools/index.ts';
import { startPerdure } from '../support/cli/perdure-command.ts';
import { newStorePlace } from '../support/stores/stores.ts';

const stray: unknown[] = [];
const collect = (reason: unknown) => void stray.push(reason);
beforeEach(() => {
  stray.length = 0;
  process.on('unhandledRejection', collect);
});
afterEach(() => void process.off('unhandledRejection', collect));

const start = async (
  tool: Tool,
  runtimeOptions = {},
): Promise<{ runtime: Runtime; agent: ReturnType<typeof defineAgent> }> => {
  const steps = [{ calls: [{ tool: tool.name, input: {} }] }, { text: 'Done.' }];
  const agent = defineAgent({ name: 'tester', version: 1, model: scriptedModel({ name: 'x', steps }), tools: [tool] });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [agent], worker: false, ...runtimeOptions });
  onTestFinished(() => runtime.close());
  return { runtime, agent };
};

/** A tool that ignores its signal, and whose call fails when `fail` is called. */
const lateTool = (kind: 'promise' | 'generator', about: Partial<Parameters<typeof defineTool>[0]> = {}) => {
  const [begun, failing] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
  failing.promise.catch(() => {});
  async function* generate() {
    begun.resolve();
    yield 'a piece';
    await failing.promise;
  }
  const tool = defineTool({
    name: 'late',
    input: z.object({}),
    effects: 'none',
    retry: { times: 0, backoffMs: 1 },
    ...about,
    execute:
      kind === 'generator'
        ? generate
        : async () => {
            begun.resolve();
            await failing.promise;
          },
  } as never) as Tool;
  const fail = async (): Promise<void> => {
    failing.reject(new Error('too late'));
    // Node reports unhandled rejections between two turns of the event loop.
    for (let turn = 0; turn < 3; turn++) await setImmediate();
  };
  return { tool, hasBegun: begun.promise, fail };
};

test.each(['promise', 'generator'] as const)('[RUN47] a %s of a tool may fail after its timeout', async (kind) => {
  const { tool, fail } = lateTool(kind, { timeoutMs: 5 });
  const { runtime, agent } = await start(tool);
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent });
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  await fail();
  expect(stray).toEqual([]);
});

test.each(['promise', 'generator'] as const)(
  '[RUN47] a %s of a tool may fail after its run was cancelled',
  async (kind) => {
    const { tool, hasBegun, fail } = lateTool(kind);
    const { runtime, agent } = await start(tool);
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Go');
    await hasBegun;
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    await fail();
    expect(stray).toEqual([]);
  },
);

test('[RUN47, RUN49] a tool may fail after its worker was stopped, without a handler in the process', async () => {
  const { tool, hasBegun, fail } = lateTool('promise');
  const handlers = () => ['unhandledRejection', 'uncaughtException'].map((name) => process.listenerCount(name));
  const before = handlers();
  const { runtime, agent } = await start(tool);
  const worker = runtime.worker();
  await worker.start();
  await (await runtime.sessions.open({ agent })).send('Go');
  await hasBegun;
  expect(handlers()).toEqual(before);
  await worker.stop();
  await fail();
  expect(stray).toEqual([]);
});

test('[RUN47] a tool may fail after its worker was fenced', async () => {
  const place = await newStorePlace('sqlite');
  onTestFinished(() => place.remove());
  const [fenced, next] = [lateTool('promise'), lateTool('promise')];
  const { runtime, agent } = await start(fenced.tool, { store: place.address });
  const session = await runtime.sessions.open({ agent });
  await session.send('Go');
  const loseCommits = await place.keep();
  // Its lease is so long that only the fence can stop it.
  const worker = runtime.worker({ concurrency: 1, leaseMs: 600_000 });
  await worker.start();
  await fenced.hasBegun;
  await loseCommits();
  const { runtime: other } = await start(next.tool, { store: place.address });
  await other.worker().start();
  await next.hasBegun;
  await fenced.fail();
  await expect.poll(() => worker.state().holds).toBe(0);
  expect(stray).toEqual([]);
});

test('[RUN47] a tracked tool may fail after its session was claimed by another loop', async () => {
  const { tool, hasBegun, fail } = lateTool('promise');
  const { runtime } = await start(tool);
  const session = await runtime.sessions.open();
  const tracked = await session.track({ late: () => tool.execute({} as never, {} as never) as Promise<void> });
  const call = expect(tracked.late()).rejects.toThrow('too late');
  await hasBegun;
  await session.track({ other: () => 1 });
  await fail();
  await call;
  expect(stray).toEqual([]);
});

test('[RUN47] an MCP server may die after a call of it timed out', async () => {
  const args = [fileURLToPath(new URL('../support/servers/mcp-server.ts', import.meta.url))];
  const tools = await mcpTools({ name: 'mcp', command: process.execPath, args, timeoutMs: 300, effects: 'none' });
  const named = (name: string) => tools.find((tool) => tool.name === `mcp_${name}`)!;
  const steps = [
    { calls: [{ tool: 'mcp_hangs', input: {} }] },
    { calls: [{ tool: 'mcp_dies', input: {} }] },
    { text: 'Done.' },
  ];
  const both = [named('hangs'), named('dies')].map((tool) => ({ ...tool, retry: { times: 0, backoffMs: 1 } }));
  const agent = defineAgent({ name: 'tester', version: 1, model: scriptedModel({ name: 'x', steps }), tools: both });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [agent] });
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.open({ agent });
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  expect(stray).toEqual([]);
});

const library = pathToFileURL(fileURLToPath(new URL('../../src/index.ts', import.meta.url))).href;

/** Its tool forgets a promise, which is rejected after the call has ended. */
const config = `
import { defineAgent, defineScript, defineTool } from '${library}';
import { z } from '${import.meta.resolve('zod')}';
process.once('SIGUSR2', () => void Promise.reject(new Error('not of a tool')));
const forget = defineTool({
  name: 'forget',
  input: z.object({}),
  effects: 'none',
  execute: () => {
    (async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error('forgotten');
    })();
    return 'fine';
  },
});
const steps = [{ calls: [{ tool: 'forget', input: {} }] }, { text: 'Done.' }];
export const agent = defineAgent({
  name: 'forgetful', version: 1, tools: [forget],
  model: defineScript({ name: 'forget', steps, everyTurn: true }),
});
export default { agents: [agent] };
`;

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-stray-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'perdure.config.mjs'), config);
  return folder;
};

test('[RUN48] a server logs the promise that a tool forgot and lives on, but ends at a rejection of other code', async () => {
  const cwd = await newFolder();
  const child = startPerdure(['serve', '--json', '--port', '0', '--log', 'error'], { cwd });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'close');
  const errors = createInterface(child.stderr)[Symbol.asyncIterator]();
  const answer = (await createInterface(child.stdout)[Symbol.asyncIterator]().next()).value as string;
  const { url, key } = JSON.parse(answer) as { url: string; key: string };
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as { id: string; session?: string };
  };
  const session = await post('/sessions', { agent: { name: 'forgetful' } });
  for (let round = 0; round < 2; round++) {
    await post(`/sessions/${session.id}/runs`, { input: 'Go' });
    const line = JSON.parse((await errors.next()).value as string);
    expect(line).toMatchObject({
      level: 'error',
      tool: 'forget',
      session: session.id,
      workspace: 'local',
      callId: expect.any(String),
      run: expect.stringContaining('run_'),
      error: expect.stringContaining('Error: forgotten'),
    });
  }
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  child.kill('SIGUSR2');
  const [code] = await exited;
  expect(code).not.toBe(0);
});

test('[RUN48] a worker reports the promise that a tool forgot and lives on', async () => {
  const cwd = await newFolder();
  const { agent } = (await import(/* @vite-ignore */ join(cwd, 'perdure.config.mjs'))) as { agent: never };
  const runtime = await openRuntime({
    store: `sqlite:${join(cwd, '.perdure/perdure.db')}`,
    agents: [agent],
    worker: false,
  });
  const session = await runtime.sessions.open({ agent });
  await session.send('Go');
  await runtime.close();
  const child = startPerdure(['worker', '--once', '--json'], { cwd });
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect(err).toContain(`warning: the tool forget did not await a promise`);
  expect(err).toContain(session.id);
  expect(code).toBe(0);
});
