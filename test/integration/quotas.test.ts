import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Model, ModelAnswer } from '../../src/core/ports/model.ts';
import { defineAgent, type Runtime, type SessionEvent } from '../../src/index.ts';
import { PerdureError } from '../../src/schema/error.ts';
import { WorkspaceId } from '../../src/schema/ids.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { subagent } from '../../src/tools/index.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { type RuntimePlace, runtimeKinds, runtimePlace } from '../support/stores/runtime-places.ts';

const price = { input: 1, output: 10 };
const usage = { inputTokens: 1000, outputTokens: 100, usd: 0.002 };
const answer: ModelAnswer = { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage };
const asked: { readonly model: string; readonly outputTokens: number | undefined }[] = [];
const modelOf = (name: string, given: Model['price'] = price, reply: Model['answer'] = async () => answer): Model => ({
  name,
  contextTokens: 100_000,
  price: given,
  answer: async (request, show) => {
    asked.push({ model: name, outputTokens: request.settings.maxOutputTokens });
    return reply(request, show);
  },
});

const settings = { maxOutputTokens: 1000 };
const desk = defineAgent({ name: 'desk', version: 1, model: modelOf('test/a'), settings });
const pair = defineAgent({ name: 'pair', version: 1, model: [modelOf('test/a'), modelOf('test/b')], settings });
const free = defineAgent({ name: 'free', version: 1, model: modelOf('test/free', null), settings });
const boss = defineAgent({
  name: 'boss',
  version: 1,
  model: modelOf('test/a', price, async ({ messages }) =>
    messages.at(-1)!.role === 'tool'
      ? answer
      : { ...answer, parts: [{ type: 'tool-call', callId: 'call_1', tool: 'desk', input: { task: 'Do it' } }] },
  ),
  tools: [subagent(desk)],
  settings,
});
let gate = Promise.withResolvers<void>();
const slow = defineAgent({
  name: 'slow',
  version: 1,
  model: modelOf('test/slow', price, async () => {
    await gate.promise;
    return answer;
  }),
  settings,
});
const agents = [desk, pair, free, boss, slow];

let workspaces = 0;

describe.each(runtimeKinds)('quotas of runs on %s', (kind) => {
  let place: RuntimePlace;
  let runtime: Runtime;
  /** Runs with the machine's own speed from a time of the test's choice. */
  let ahead = 0;
  const clock = { now: () => Date.now() + ahead };
  beforeAll(async () => {
    place = await runtimePlace(kind);
    runtime = await place.open({ agents, clock });
    await runtime.worker().start();
  });
  afterEach(() => {
    asked.length = 0;
    ahead = 0;
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  const newWorkspace = async () => {
    const workspace = `q-${++workspaces}`;
    await runtime.workspaces.add(workspace);
    return {
      workspace,
      admin: runtime.as({ workspace, member: 'root', role: 'admin' }),
      mia: runtime.as({ workspace, member: 'mia', role: 'member' }),
      allow: (limits: Parameters<Runtime['workspaces']['setQuota']>[1]) =>
        runtime.workspaces.setQuota(workspace, limits),
    };
  };

  test('[QUO11, QUO12] a run without room waits, says who can raise the quota, and goes on once it is raised', async () => {
    const { workspace, admin, mia, allow } = await newWorkspace();
    await allow({ tokensPerDay: 200 });
    const session = await mia.sessions.open({ agent: desk });
    const run = await session.send('Go');
    const result = await run.result();
    expect(result).toMatchObject({ status: 'waiting', waitingFor: 'quota' });
    const { reason } = result as { reason?: string };
    expect(reason).toMatch(/^the quota of the workspace q-\d+ is 200 tokens per day \(UTC\): 0 are used or reserved/);
    expect(reason).toContain(`the operator of this store can change it with \`perdure workspaces quota ${workspace}`);
    expect(reason).toMatch(/it begins anew at \d{4}-\d\d-\d\dT00:00:00.000Z/);
    expect((await session.summary()).waitsUntil).toBeGreaterThan(clock.now());
    // A quota that is still too low makes it wait again.
    await allow({ tokensPerDay: 210 });
    await expect.poll(async () => (await session.summary()).waitingOn, { timeout: 10_000 }).toContain('210 tokens');
    await allow({ tokensPerDay: 100_000 });
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect((await admin.quotas.list()).used).toMatchObject([
      { tokensPerDay: 1100, usdPerDay: 0.002, runs: 0 },
      { member: 'mia', tokensPerDay: 1100, sessions: 1 },
    ]);
  });

  test('[QUO11] a private session goes on too when an admin, who does not list it, changes a quota', async () => {
    const { admin, mia } = await newWorkspace();
    await admin.quotas.set({ tokensPerDay: 200 });
    const run = await (await mia.sessions.open({ agent: desk, visibility: 'private' })).send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'quota' });
    await admin.quotas.remove();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
    const verbs = (await admin.audit.list()).entries.map(({ verb }) => verb);
    expect(verbs).not.toContain('session.seePrivate');
  });

  test('[QUO5, QUO12] the quota of a member stops that member alone, and names the admin', async () => {
    const { admin, mia } = await newWorkspace();
    await admin.quotas.set({ usdPerMonth: 0.0001 });
    await admin.quotas.set({ usdPerMonth: 5 }, { member: 'ann' });
    const run = await (await mia.sessions.open({ agent: desk })).send('Go');
    const result = await run.result();
    expect(result).toMatchObject({ status: 'waiting', waitingFor: 'quota' });
    expect(JSON.stringify(result)).toMatch(
      /the quota of the member mia is 0.0001 USD per month .*an admin of q-\d+ can change it with `perdure quotas set mia --usd-per-month …`/,
    );
    const ann = runtime.as({ workspace: (await mia.members.me()).workspace, member: 'ann' });
    const other = await (await ann.sessions.open({ agent: desk })).send('Go');
    expect(await other.waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(await ann.quotas.mine()).toMatchObject({ limits: { usdPerMonth: 5 }, used: { usdPerMonth: 0.002 } });
    await admin.quotas.remove();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  });

  test('[QUO8] a quota of bytes refuses tracked calls once it is used up, but takes the outcome of one that began', async () => {
    const { admin, mia, allow } = await newWorkspace();
    const session = await mia.sessions.open();
    await allow({ bytes: 200_000 });
    const input = { order: 7 };
    const { token } = await session.beginCall({ callId: 'call_1', tool: 'read', input, effects: 'none' });
    await session.endCall('call_1', { token, output: 'x'.repeat(300_000) });
    const [row] = (await admin.quotas.list()).used;
    expect(row?.bytes).toBeGreaterThan(300_000);
    const refusal = { code: 'QUOTA_EXCEEDED', details: { quota: 'bytes', limit: 200_000 } };
    const next = session.beginCall({ callId: 'call_2', tool: 'read', input, effects: 'none' });
    await expect(next).rejects.toMatchObject(refusal);
  });

  test('[QUO8] many small sessions count for the quota of bytes, archived ones too', async () => {
    const { mia, allow } = await newWorkspace();
    await allow({ bytes: 4 * 64 * 1024 });
    for (let count = 0; count < 4; count++) {
      const session = await mia.sessions.open();
      await session.append({ role: 'user', content: 'x'.repeat(10_000) });
      await session.close();
      await session.archive();
    }
    const refusal = { code: 'QUOTA_EXCEEDED', details: { quota: 'bytes', used: 4 * 64 * 1024 } };
    await expect(mia.sessions.open()).rejects.toMatchObject(refusal);
  });

  test('[QUO11, QUO4] a run that waits for a day goes on when the next one begins', async () => {
    const { mia, allow } = await newWorkspace();
    ahead = new Date(Date.now()).setUTCHours(23, 59, 57, 0) - Date.now();
    await allow({ tokensPerDay: 1800 });
    const first = await (await mia.sessions.open({ agent: desk })).send('Go');
    expect(await first.waitForEnd()).toMatchObject({ status: 'succeeded' });
    const run = await (await mia.sessions.open({ agent: desk })).send('Go');
    const waited: SessionEvent[] = [];
    for await (const event of run.events()) waited.push(event);
    expect(waited.map(({ type }) => type)).toContain('run.ended');
    const called = waited.find(({ type }) => type === 'model.called')!;
    const waiting = waited.find(({ type }) => type === 'run.waiting');
    // Unless the machine was too slow to ask before midnight, the run has waited for it.
    if (waiting) expect(new Date(called.at).getUTCDate()).not.toBe(new Date(waiting.at).getUTCDate());
  });

  test('[QUO7] runs of resumed sessions wait for each other within the quota of runs', async () => {
    const { mia, allow } = await newWorkspace();
    await allow({ runs: 1 });
    gate = Promise.withResolvers();
    const sessions = [await mia.sessions.open({ agent: slow }), await mia.sessions.open({ agent: slow })];
    const runs: Awaited<ReturnType<(typeof sessions)[number]['send']>>[] = [];
    for (const session of sessions) {
      await session.pause();
      runs.push(await session.send('Go'));
    }
    for (const session of sessions) await session.resume();
    const typeSeen = async (place: number, types: readonly string[]) => {
      for await (const { type, payload } of runs[place]!.events()) if (types.includes(type)) return { type, payload };
      return undefined;
    };
    const first = await Promise.all([0, 1].map((place) => typeSeen(place, ['model.called', 'run.waiting'])));
    expect(first.map((seen) => seen?.type).sort()).toEqual(['model.called', 'run.waiting']);
    const waits = first.findIndex((seen) => seen?.type === 'run.waiting');
    expect(first[waits]?.payload).toMatchObject({
      for: 'quota',
      reason: expect.stringContaining('1 run'),
      until: expect.any(Number),
    });
    expect(asked).toHaveLength(1);
    gate.resolve();
    expect(await runs[1 - waits]!.waitForEnd()).toMatchObject({ status: 'succeeded' });
    await allow({ runs: 2 });
    expect(await runs[waits]!.waitForEnd()).toMatchObject({ status: 'succeeded' });
  });

  test('[QUO11] an answer is shortened to what the quota leaves', async () => {
    const { mia, allow } = await newWorkspace();
    await allow({ tokensPerDay: 700 });
    const session = await mia.sessions.open({ agent: desk });
    expect(await (await session.send('Go')).waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(asked[0]!.outputTokens).toBeGreaterThanOrEqual(256);
    expect(asked[0]!.outputTokens).toBeLessThan(700);
  });

  test('[QUO9, QUO14] a fallback is asked if it is included, and otherwise the run fails', async () => {
    const { mia, admin, allow } = await newWorkspace();
    await allow({ models: ['test/b'] });
    const session = await mia.sessions.open({ agent: pair });
    expect(await (await session.send('Go')).waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(asked.map(({ model }) => model)).toEqual(['test/b']);
    const failed = await (await (await mia.sessions.open({ agent: desk })).send('Go')).waitForEnd();
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'QUOTA_EXCLUDED' } });
    await allow(undefined);
    await admin.quotas.set({ usdPerDay: 100 }, { member: 'mia' });
    const unpriced = await (await (await mia.sessions.open({ agent: free })).send('Go')).waitForEnd();
    expect(unpriced).toMatchObject({ status: 'failed', error: { code: 'QUOTA_EXCLUDED' } });
    expect(JSON.stringify(unpriced)).toContain('the price of test/free is not known');
  });

  test('[QUO9] an agent that the quota does not include is refused, also as a subagent', async () => {
    const { mia, allow } = await newWorkspace();
    const before = await mia.sessions.open({ agent: desk });
    await allow({ agents: ['boss'] });
    const refusal = { code: 'QUOTA_EXCLUDED', details: { quota: 'agents', name: 'desk', allowed: ['boss'] } };
    await expect(mia.sessions.open({ agent: desk })).rejects.toMatchObject(refusal);
    await expect(before.send('Go')).rejects.toMatchObject(refusal);
    const session = await mia.sessions.open({ agent: boss });
    expect(await (await session.send('Go')).waitForEnd()).toMatchObject({ status: 'succeeded' });
    const [call] = (await session.toolCalls()).calls;
    expect(call).toMatchObject({ tool: 'desk', status: 'threw' });
  });

  test('[QUO6] no more sessions are opened, forked, restored or imported than the quota allows', async () => {
    const { mia, admin, allow, workspace } = await newWorkspace();
    await allow({ sessions: 2 });
    const first = await mia.sessions.open({ agent: desk });
    await first.append([{ role: 'user', content: 'Hello' }]);
    const second = await first.fork();
    const refusal = { code: 'QUOTA_EXCEEDED', details: { quota: 'sessions', used: 2, limit: 2, workspace } };
    await expect(mia.sessions.open({ agent: desk })).rejects.toMatchObject(refusal);
    await expect(first.fork()).rejects.toMatchObject(refusal);
    await second.close();
    await second.archive();
    await mia.sessions.open({ agent: desk });
    await expect(second.unarchive()).rejects.toMatchObject(refusal);
    const elsewhere = await newWorkspace();
    const foreign = await elsewhere.mia.sessions.open({ agent: desk });
    const bundle = await Array.fromAsync(foreign.export());
    await expect(
      admin.sessions.import(
        (async function* () {
          yield* bundle;
        })(),
      ),
    ).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', details: { quota: 'sessions' } });
    expect((await admin.sessions.list()).sessions).toHaveLength(3);
  });

  test('[QUO13] admins set the quotas of members, audited, and only the program that of the workspace', async () => {
    const { mia, admin, allow, workspace } = await newWorkspace();
    await allow({ sessions: 5 });
    await expect(mia.quotas.set({ runs: 1 })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(mia.quotas.list()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await admin.quotas.set({ runs: 1 });
    await admin.quotas.set({ runs: 3, agents: ['desk'] }, { member: 'mia' });
    expect((await admin.quotas.list()).quotas).toMatchObject([
      { of: 'workspace', limits: { sessions: 5 } },
      { of: 'members', limits: { runs: 1 } },
      { of: 'member', member: 'mia', limits: { runs: 3, agents: ['desk'] } },
    ]);
    expect(await mia.quotas.mine()).toMatchObject({ limits: { runs: 3, agents: ['desk'] }, used: { member: 'mia' } });
    const { entries } = await admin.audit.list();
    expect(entries.filter(({ verb }) => verb === 'quotas.set')).toHaveLength(3);
    const program = runtime.as({ workspace: 'local', member: 'local', role: 'admin' });
    const entry = (await program.audit.list()).entries.find(({ verb }) => verb === 'workspaces.setQuota');
    expect(entry).toMatchObject({ verb: 'workspaces.setQuota', target: workspace });
    for (const wrong of [{ runs: -1 }, { usdPerDay: Number.NaN }, { seats: 3 }, { agents: 'desk' }]) {
      await expect(admin.quotas.set(wrong as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    await expect(admin.quotas.set({}, { member: '../x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});

test('[QUO3] wherever a worker dies, the next one settles what it had reserved', async () => {
  for (let at = 1; ; at++) {
    const database = newMemoryDatabase();
    const died = Promise.withResolvers<boolean>();
    const store = openMemoryStore(database);
    let appends = 0;
    const mortal = overrideStore(store, {
      append: async (request) => {
        if (++appends < at) return store.append(request);
        died.resolve(true);
        throw new PerdureError('STORE_UNAVAILABLE', 'this worker is dead');
      },
    });
    const { openRuntime } = await import('../../src/index.ts');
    const options = { agents: [desk], worker: false, onWarning: () => undefined };
    const caller = await openRuntime({ ...options, store: openMemoryStore(database) });
    await caller.workspaces.setQuota('local', { tokensPerDay: 1_000_000 });
    const session = await caller.sessions.open({ agent: desk });
    const run = await session.send('Go');
    const first = await openRuntime({ ...options, store: mortal });
    await first.worker().start();
    const isDead = await Promise.race([died.promise, run.waitForEnd().then(() => false)]);
    await first.close();
    const second = await openRuntime({ ...options, store: openMemoryStore(database) });
    if (isDead) await second.worker().start();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
    const day = new Date().toISOString().slice(0, 10);
    const rows = await openMemoryStore(database).ledger(WorkspaceId.parse('local'), [day]);
    expect(rows.every(({ reserved }) => reserved === 0)).toBe(true);
    expect(rows.find(({ member, meter }) => member === '' && meter === 'runs')).toBeUndefined();
    await second.close();
    await caller.close();
    if (!isDead) return;
  }
});
