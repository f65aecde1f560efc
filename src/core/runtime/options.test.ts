import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineScript } from '../../models/script.ts';
import { openRuntime, type Runtime } from '../../runtime.ts';
import type { State } from '../../schema/state.ts';
import { openPostgresStore } from '../../stores/postgres/index.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { WorkerOptions } from '../runs/worker-options.ts';
import { defineAgent } from '../session/agent.ts';
import type { Session } from './session.ts';

const coder = defineAgent({ name: 'coder', version: 1, model: 'scripted/demo' });
const input = { '~standard': { version: 1, vendor: 'none', validate: (value: unknown) => ({ value }) } } as const;

const begin = async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [coder] });
  const session = await runtime.sessions.open({ agent: coder });
  await session.append({ role: 'user', content: 'go' });
  return { runtime, session, run: await session.send('go on') };
};

interface Target {
  readonly runtime: Runtime;
  readonly session: Session;
  readonly run: Awaited<ReturnType<Session['send']>>;
}

const beside = (needed: object, options: object | null) => (options && { ...needed, ...options }) as never;

/** Every public call that accepts options, with its other arguments. */
const calls: Record<string, (target: Target, options: never) => unknown> = {
  openRuntime: (_, options) => openRuntime(beside({ store: openMemoryStore() }, options)),
  'openRuntime, snapshots': (_, options) => openRuntime({ store: openMemoryStore(), snapshots: options }),
  'openRuntime, timing': (_, options) => openRuntime({ store: openMemoryStore(), timing: options }),
  'openRuntime, models': (_, options) => openRuntime({ store: openMemoryStore(), models: options }),
  openPostgresStore: (_, options) => openPostgresStore(beside({ url: 'postgres://x' }, options)),
  as: ({ runtime }, options) => runtime.as(beside({ workspace: 'a', member: 'b' }, options)),
  worker: ({ runtime }, options) => runtime.worker(options),
  verify: ({ session }, options) => session.verify(options),
  gc: ({ runtime }, options) => runtime.gc(options),
  'sessions.open': ({ runtime }, options) => runtime.sessions.open(options),
  'sessions.list': ({ runtime }, options) => runtime.sessions.list(options),
  'sessions.commits': ({ runtime }, options) => runtime.sessions.commits(options),
  'sessions.toolCalls': ({ runtime }, options) => runtime.sessions.toolCalls(options),
  append: ({ session }, options) => session.append({ role: 'user', content: 'x' }, options),
  update: ({ session }, options) => session.update(options),
  events: ({ session }, options) => session.events(options).next(),
  transcript: ({ session }, options) => session.transcript(options),
  context: ({ session }, options) => session.context(options),
  pause: ({ session }, options) => session.pause(options),
  close: ({ session }, options) => session.close(options),
  send: ({ session }, options) => session.send('x', options),
  handoff: ({ session }, options) => session.handoff(beside({ to: 'human' }, options)),
  limit: ({ session }, options) => session.limit({ turns: 5 }, options),
  'limit, limits': ({ session }, options) => session.limit(options),
  state: ({ session }, options) => session.state(options),
  commit: ({ session }, options) => session.commit(() => undefined, options),
  lift: ({ session }, options) => session.lift('/facts/a', beside({ to: 'verified', why: 'x' }, options)),
  commits: ({ session }, options) => session.commits(options),
  toolCalls: ({ session }, options) => session.toolCalls(options),
  watchCommits: ({ session }, options) => session.watchCommits(options),
  revert: ({ session }, options) => session.revert(1, options),
  adopt: ({ session }, options) => session.adopt(session, options),
  diff: ({ session }, options) => session.diff({ seq: 1 }, beside({ seq: 1 }, options)),
  compact: ({ session }, options) => session.compact(options),
  retry: ({ session }, options) => session.retry(beside({ turn: 1 }, options)),
  replay: ({ session }, options) => session.replay(beside({ turn: 1 }, options)),
  fork: ({ session }, options) => session.fork(options),
  rewind: ({ session }, options) => session.rewind(beside({ to: { seq: 1 } }, options)),
  'files.list': ({ session }, options) => session.files.list(options),
  'files.read': ({ session }, options) => session.files.read('a', options),
  'files.write': ({ session }, options) => session.files.write('a', 'x', options),
  'files.delete': ({ session }, options) => session.files.delete('a', options),
  'files.diff': ({ session }, options) => session.files.diff({ seq: 1 }, beside({ seq: 1 }, options)),
  'files.changes': ({ session }, options) => session.files.changes({ seq: 1 }, beside({ seq: 1 }, options)),
  'files.history': ({ session }, options) => session.files.history('a', options),
  'files.restore': ({ session }, options) => session.files.restore({ seq: 1 }, options),
  'files.copyTo': ({ session }, options) => session.files.copyTo('never-made', options),
  'artifacts.keep': ({ session }, options) => session.artifacts.keep('a', 'x', options),
  'run.events': ({ run }, options) => run.events(options).next(),
  'run.result': ({ run }, options) => run.result(options),
  'run.waitForEnd': ({ run }, options) => run.waitForEnd(options),
};

test.each(Object.keys(calls))('[IN1] %s rejects unknown options, and null', async (name) => {
  const target = await begin();
  const { seq } = await target.session.summary();
  for (const options of [{ idempotencykey: 'x' }, null]) {
    await expect((async () => calls[name]!(target, options as never))()).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  }
  expect((await target.session.summary()).seq).toBe(seq);
  await target.runtime.close();
});

test('[IN8] a definition with a misspelt field is rejected, and the error names the field', () => {
  expect(() => defineAgent({ name: 'a', version: 1, instruction: 'x' } as never)).toThrow(/"instruction"/);
  expect(() => defineAgent({ name: 'a', version: 1, policies: { maxStep: 1 } } as never)).toThrow(/"maxStep"/);
  expect(() => defineTool({ name: 'a', input, execute: () => 1, timeoutMS: 5 } as never)).toThrow(/"timeoutMS"/);
  expect(() => defineAgent(null as never)).toThrow(expect.objectContaining({ code: 'AGENT_INVALID' }));
  expect(() => defineTool(null as never)).toThrow(expect.objectContaining({ code: 'TOOL_INVALID' }));
});

test('[IN1] an initial state that does not fit its schema is rejected, at run time and by the compiler', () => {
  const state = z.object({ status: z.enum(['draft', 'placed']) });
  // @ts-expect-error the schema has no such status
  const wrong = () => defineAgent({ name: 'a', version: 1, state, initial: { status: 'shipped' } });
  expect(wrong).toThrow(expect.objectContaining({ code: 'AGENT_INVALID' }));
  expect(defineAgent({ name: 'a', version: 1, state, initial: { status: 'draft' } }).initial.status).toBe('draft');
});

test('[IN1] invalid values are rejected', async () => {
  const { runtime, session, run } = await begin();
  const wrong = { code: 'INVALID_INPUT' };
  for (const lastTurns of [Number.NaN, -1, 1.5, '1']) {
    await expect(session.transcript({ lastTurns } as never)).rejects.toMatchObject(wrong);
  }
  for (const options of [
    { after: -1 },
    { after: '1' },
    { signal: 5 },
    { follow: 1 },
    { at: { turn: 1 }, follow: true },
  ]) {
    expect(() => session.events(options as never)).toThrow(expect.objectContaining(wrong));
  }
  await expect(session.retry({ turn: Number.NaN })).rejects.toMatchObject(wrong);
  await expect(session.append({ role: 'user', content: 'x' }, { idempotencyKey: '' })).rejects.toMatchObject(wrong);
  await expect(runtime.sessions.open({ agent: {} as never })).rejects.toMatchObject(wrong);
  await expect(runtime.sessions.open({ carryFrom: {} as never })).rejects.toMatchObject(wrong);
  await expect(session.cancel('x' as never)).rejects.toMatchObject(wrong);
  await expect(session.answer(5 as never, 'x')).rejects.toMatchObject(wrong);
  await expect(run.result({ signal: 5 as never })).rejects.toMatchObject(wrong);
  expect(() => runtime.worker({ concurrency: 0 })).toThrow(expect.objectContaining(wrong));
  await runtime.close();
});

test('[WORKER14, WORKER21] out-of-range worker options are rejected with the valid range', async () => {
  const { runtime } = await begin();
  const dayMs = 86_400_000;
  const cases: readonly (readonly [options: WorkerOptions, expected: string])[] = [
    [{ leaseMs: 1 }, 'leaseMs: expected a whole number from 100 to 86400000, such as 30000'],
    [{ leaseMs: 1000.5 }, 'leaseMs: expected a whole number from 100'],
    [{ leaseMs: dayMs + 1 }, 'leaseMs: expected a whole number from 100'],
    [{ pollMs: 2 ** 31 }, 'pollMs: expected a whole number from 1 to 86400000, such as 5000'],
    [{ concurrency: 1001 }, 'concurrency: expected a whole number from 1 to 1000, such as 4'],
    [{ limits: { perWorkspace: 1_000_001 } }, 'limits.perWorkspace: expected a whole number from 1 to 1000000'],
    [{ limits: { perAgent: { 'a@1': 2 ** 31 } } }, 'limits.perAgent.a@1: expected a whole number from 1 to 1000000'],
  ];
  for (const [options, expected] of cases) {
    const refused = { code: 'INVALID_INPUT', message: expect.stringContaining(`the worker is not valid: ${expected}`) };
    expect(() => runtime.worker(options)).toThrow(expect.objectContaining(refused));
  }
  const most = { concurrency: 1000, leaseMs: dayMs, pollMs: dayMs, limits: { perWorkspace: 1_000_000 } };
  for (const kept of [{ leaseMs: 100 }, most]) expect(runtime.worker(kept).state()).toMatchObject({ holds: 0 });
  await runtime.close();
});

test("[IN1] a value of the wrong kind is rejected with an error in the caller's own terms", async () => {
  const { runtime, session } = await begin();
  const messageOf = async (call: () => unknown) =>
    (async () => call())().catch(({ code, message }) => `${code}: ${message}`);
  const inKind = (value: unknown) => value as never;
  const store = openMemoryStore();
  const wrong: Record<string, () => unknown> = {
    'AGENT_INVALID: agents: expected a list': () => openRuntime({ store, agents: inKind(coder) }),
    'AGENT_INVALID: agents[1] was not made by defineAgent': () =>
      openRuntime({ store: openMemoryStore(), agents: [coder, inKind({ name: 'a', version: 1 })] }),
    'AGENT_INVALID: an agent without a name cannot be used: name: expected': () => defineAgent(inKind({})),
    'AGENT_INVALID: the agent a cannot be used: tools: expected a list': () =>
      defineAgent({ name: 'a', version: 1, tools: inKind({}) }),
    'AGENT_INVALID: the agent a cannot be used: tools[0] was not made by defineTool': () =>
      defineAgent({ name: 'a', version: 1, tools: [inKind({ name: 'x', execute: () => 1 })] }),
    'TOOL_INVALID: a tool without a name cannot be used: "namme"': () => defineTool(inKind({ namme: 'x' })),
    'TOOL_INVALID: the tool x cannot be used: input is not a schema, such as z.object({ … })': () =>
      defineTool(inKind({ name: 'x', execute: () => 1 })),
    'INVALID_INPUT: expected a script as { steps }, with or without a name': () => defineScript(inKind({ name: 'x' })),
    'INVALID_INPUT: the append is not valid: messages.0: expected { role, content }': () =>
      session.append(inKind('hello')),
    'INVALID_INPUT: the input is not valid: expected text, or a list of parts': () =>
      session.send(inKind({ text: 'x' })),
    'INVALID_INPUT: the patch is not valid: expected a function on a draft, or a list of RFC 6902': () =>
      session.commit(inKind({ facts: {} })),
    'INVALID_INPUT: a commit function must change the draft': () =>
      session.commit(inKind((draft: State) => ({ ...draft, facts: { port: 8080 } }))),
  };
  for (const [words, call] of Object.entries(wrong)) expect(await messageOf(call)).toContain(words);
  expect(await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }))).toBeDefined();
  await runtime.close();
});

test.each([
  ['a duplicate agent', { agents: [coder, coder] }, 'AGENT_INVALID'],
  ['an invalid agent', { agents: [{ name: 'coder', version: 1 }] }, 'AGENT_INVALID'],
  ['invalid snapshots', { snapshots: { everyEvents: 0, everyBytes: 1 } }, 'INVALID_INPUT'],
  ['invalid timing', { timing: { modelBackoffMs: -1 } }, 'INVALID_INPUT'],
  ['a data folder that is not a string', { data: 5 }, 'INVALID_INPUT'],
])('[IN1, IN11] a runtime with %s is rejected before a store is created', async (_, options, code) => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-refused-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const store of [`sqlite:${join(folder, 'made', 'a.db')}`, 'postgres://127.0.0.1:1/none']) {
    await expect(openRuntime({ store, ...(options as object) })).rejects.toMatchObject({ code });
  }
  expect(await readdir(folder)).toEqual([]);
  await expect(openRuntime({ store: null as never, ...(options as object) })).rejects.toMatchObject({ code });
  const own = openMemoryStore();
  await expect(openRuntime({ store: own, ...(options as object) })).rejects.toMatchObject({ code });
  await expect(own.list('local' as never, { limit: 1 })).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
});

test('[IN1] a model option passed to the runtime is rejected, and the error says where it belongs', async () => {
  await expect(openRuntime({ store: null as never, providers: {} } as never)).rejects.toThrow(
    /^openRuntime: "providers" is not one of store, .*: did you mean models\.providers\?$/,
  );
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -5, 2 ** 48])(
  '[IN1] a clock that returns %d is rejected before it is used, and affects no other ids',
  async (now) => {
    const store = openMemoryStore();
    const runtime = await openRuntime({ store, clock: { now: () => now } });
    await expect(runtime.sessions.open()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect((await store.list('local' as never, { limit: 10 })).sessions).toEqual([]);
    const other = await openRuntime({ store: openMemoryStore(), clock: { now: () => 1_700_000_000_000.5 } });
    const { id } = await other.sessions.open();
    expect(await (await other.sessions.get(id)).verify()).toMatchObject({ ok: true });
    for (const each of [runtime, other]) await each.close();
  },
);
