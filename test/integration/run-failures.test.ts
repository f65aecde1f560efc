import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Finish, type Model, ModelFailure } from '../../src/core/ports/model.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { defineAgent, defineTool, openRuntime, PerdureError } from '../../src/index.ts';
import { eventDefinitions } from '../../src/schema/event.ts';
import type { ModelFailureKind } from '../../src/schema/run.ts';
import { type RunFailureCode, runFailureCatalog } from '../../src/schema/run-failure-catalog.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { callCliOn } from '../support/cli/call-cli.ts';
import { messagesApi } from '../support/providers/messages-api.ts';
import { startProvider, testKey } from '../support/providers/provider-server.ts';
import { startRuns } from '../support/runs/start-runs.ts';
import { freePort } from '../support/servers/free-port.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const answering = (answer: Model['answer']): { readonly model: Model } => ({
  model: { name: 'test/model', contextTokens: 100_000, price: null, answer },
});
const failing = (kind: ModelFailureKind) => ({
  ...answering(() => Promise.reject(new ModelFailure(kind, 'as told'))),
  policies: { maxModelWaitMs: 20 },
});
const ending = (finish: Finish, text = 'Half of') =>
  answering(async () => ({
    parts: [{ type: 'text', text }],
    finish,
    usage: { inputTokens: 1, outputTokens: 1 },
  }));

const look = defineTool({ name: 'look', input: z.object({}), effects: 'none', execute: () => 'seen' });
let calls = 0;
const looking = answering(async () => ({
  parts: [{ type: 'tool-call', callId: `call_${calls++}`, tool: 'look', input: {} }],
  finish: 'tool-calls',
  usage: { inputTokens: 1, outputTokens: 1 },
}));

const breaking: Model = {
  ...ending('stop').model,
  get contextTokens(): number {
    throw new Error('not foreseen');
  },
};

const agents: Readonly<Record<Exclude<RunFailureCode, 'MEMBER_NOT_ALLOWED'>, Parameters<typeof startRuns>[0]>> = {
  MODEL_OVERFLOW: failing('overflow'),
  MODEL_RATE_LIMIT: failing('rate-limit'),
  MODEL_UNAVAILABLE: failing('unavailable'),
  MODEL_TIMEOUT: failing('timeout'),
  MODEL_BROKEN_STREAM: failing('broken-stream'),
  MODEL_ENDLESS: failing('endless'),
  MODEL_REFUSED: failing('refused'),
  MODEL_LENGTH: ending('length'),
  MODEL_CONTENT_FILTER: ending('content-filter'),
  OUTPUT_INVALID: { ...ending('stop', 'no JSON'), output: z.object({ port: z.number() }) },
  MAX_STEPS: { ...looking, tools: [look], policies: { maxSteps: 2 } },
  DEFECT: { model: breaking },
};

/** `MEMBER_NOT_ALLOWED` needs a member that is removed: see test/integration/removed-members.test.ts. */
const codes = (Object.keys(agents) as (keyof typeof agents)[]).filter((code) => code in runFailureCatalog);

test.each(codes)('[RUN21] a run can end with %s', async (code) => {
  const warnings: unknown[] = [];
  const { runtime, session } = await startRuns(agents[code], { onWarning: (problem) => warnings.push(problem) });
  undo.push(() => runtime.close());
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'failed', error: { code } });
  expect(warnings).toHaveLength(code === 'DEFECT' ? 1 : 0);
  expect(await (await session.send('And again')).result()).toMatchObject({ error: { code } });
});

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-failures-'));
  undo.push(() => rm(folder, { recursive: true }));
  return folder;
};

test('[RUN21] a run that cannot be set up fails, and leaves no watcher behind', async () => {
  const database = newMemoryDatabase();
  const [data, cwd] = [await newFolder(), await newFolder()];
  const agent = defineAgent({ name: 'tester', version: 1, ...ending('stop') });
  const warnings: unknown[] = [];
  const runtime = await openRuntime({
    store: openMemoryStore(database),
    data,
    agents: [agent],
    worker: false,
    onWarning: (problem) => warnings.push(problem),
  });
  undo.push(() => runtime.close());
  const session = await runtime.sessions.open({ agent, files: { cwd } });
  const worker = runtime.worker();
  await worker.start();
  await rm(join(data, 'machine'));
  await mkdir(join(data, 'machine'));
  const run = await session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'DEFECT' } });
  await worker.stop();
  expect(database.watchers.size).toBe(0);
  expect(warnings).toHaveLength(1);
});

test('[FAULT1] a store failure during a run does not end the run: it is released and claimed again', async () => {
  const agent = defineAgent({ name: 'tester', version: 1, ...ending('stop') });
  const store = openMemoryStore();
  let isAway = false;
  const runtime = await openRuntime({
    store: overrideStore<RuntimeStore>(store, {
      append: (request) => {
        const isCalled = request.events.some(({ type }) => type === 'model.called');
        if (!isCalled || isAway) return store.append(request);
        isAway = true;
        return Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'away'));
      },
    }),
    agents: [agent],
    worker: false,
    onWarning: () => undefined,
  });
  undo.push(() => runtime.close());
  const session = await runtime.sessions.open({ agent });
  const run = await session.send('Go');
  await runtime.worker().runUntilIdle();
  expect(await run.result()).toMatchObject({ status: 'succeeded' });
  const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
  expect(types.filter((type) => type === 'run.started')).toHaveLength(2);
});

test('[RUN21, RUN36] a failure code of another release is returned unchanged', () => {
  const payload = { status: 'failed', error: { code: 'FROM_TOMORROW', message: 'not known here' } };
  expect(eventDefinitions['run.ended'].payload.parse(payload)).toEqual(payload);
});

const key = { ANTHROPIC_API_KEY: testKey };

/** The output that a first-time user of this provider sees. */
const asked = async (env: Readonly<Record<string, string>>, ...more: readonly string[]) => {
  const database = newMemoryDatabase();
  return callCliOn(database, ['send', '--new', 'hello', ...more], {
    columns: Number.POSITIVE_INFINITY,
    env: { PERDURE_MODEL: 'anthropic/claude-sonnet-5-5', ...env },
    openRuntime: (options) =>
      openRuntime({
        worker: false,
        ...options,
        agents: options.agents!.map((agent) => ({ ...agent, maxModelWaitMs: 5 })),
        store: openMemoryStore(database),
        timing: { modelBackoffMs: 1 },
      }),
  });
};
const providerWith = async (status: number, message: string) => {
  const provider = await startProvider(messagesApi);
  undo.push(() => provider.close());
  const headers = { 'retry-after': '0' };
  provider.reply(...Array.from({ length: 20 }, () => ({ status: { status, message, headers } })));
  return provider;
};

test.each([
  [
    401,
    'invalid x-api-key.',
    'MODEL_REFUSED: anthropic/claude-sonnet-5-5 refused the request (HTTP 401): invalid x-api-key: check the key, which came from the environment variable ANTHROPIC_API_KEY\n',
  ],
  [
    404,
    'The model `none` does not exist.',
    "MODEL_REFUSED: anthropic/claude-sonnet-5-5 refused the request (HTTP 404): The model `none` does not exist: check the model's name and the base URL (ANTHROPIC_BASE_URL)\n",
  ],
  [
    400,
    'tools.0.name: use of `a b` is not allowed, see --help.',
    `MODEL_REFUSED: anthropic/claude-sonnet-5-5 refused the request (HTTP 400): tools.0.name: use of \`a b\` is not allowed, see --help.\n  ${runFailureCatalog.MODEL_REFUSED.remedy}\n`,
  ],
  [
    429,
    'Too many requests',
    `MODEL_RATE_LIMIT: anthropic/claude-sonnet-5-5 reports a rate limit (HTTP 429): Too many requests\n  ${runFailureCatalog.MODEL_RATE_LIMIT.remedy}\n`,
  ],
])("[CLIR11] a provider's HTTP %d is reported once, with what to do next", async (status, message, expected) => {
  const provider = await providerWith(status, message);
  const { code, err } = await asked({ ...key, ANTHROPIC_BASE_URL: provider.url });
  expect(code).toBe(1);
  expect(err.slice(err.indexOf('! failed'))).toBe(`! failed ${expected}`);
  const times = err.match(new RegExp(RegExp.escape(message.replace(/\.$/, '')), 'g'))!.length;
  if (status === 429) expect(times).toBeGreaterThan(2);
  else expect(times).toBe(1);
});

test('[CLIR11, MODEL5] an address without a server is reported with where it is set', async () => {
  const { code, err } = await asked({ ...key, ANTHROPIC_BASE_URL: `http://127.0.0.1:${await freePort()}` });
  expect(code).toBe(1);
  expect(err).toMatch(
    /! failed MODEL_UNAVAILABLE: .*ECONNREFUSED.*: check the network, the base URL \(ANTHROPIC_BASE_URL\), and that something answers there\n$/,
  );
});

test('[CLIR11] with --json the end of the run has the code, and nothing is added to it', async () => {
  const provider = await providerWith(401, 'invalid x-api-key');
  const { out, err } = await asked({ ...key, ANTHROPIC_BASE_URL: provider.url }, '--json');
  const end = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .at(-1);
  expect(end).toMatchObject({
    type: 'run.ended',
    payload: {
      status: 'failed',
      error: { code: 'MODEL_REFUSED', message: expect.stringMatching(/variable ANTHROPIC_API_KEY$/) },
    },
  });
  expect(err).not.toContain('failed');
});
