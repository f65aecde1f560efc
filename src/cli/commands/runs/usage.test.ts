import { expect, test } from 'vitest';
import { callCli, callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { startTestServer } from '../../../../test/support/servers/http-server.ts';
import { overrideStore } from '../../../../test/support/stores/override-store.ts';
import type { Model } from '../../../core/ports/model.ts';
import { defineAgent } from '../../../index.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { displayWidth } from '../../terminal/display-width.ts';

const answering = (usd: number | undefined): Model => ({
  name: 'test/model',
  contextTokens: 100_000,
  price: usd === undefined ? null : { input: 1, output: 10 },
  answer: async () => ({
    parts: [{ type: 'text', text: 'Done.' }],
    finish: 'stop',
    usage: { inputTokens: 1000, outputTokens: 111, ...(usd !== undefined && { usd }) },
  }),
});

const agentAt = (name: string, usd: number | undefined) =>
  defineAgent({ name, version: 1, model: answering(usd), settings: { maxOutputTokens: 1000 } });

/** One session of a priced model with limits, one of a model without a price, and one that is unused. */
const start = async () => {
  const database = newMemoryDatabase();
  const agents = [agentAt('priced', 0.02), agentAt('unpriced', undefined)];
  const runtime = await openRuntime({
    store: openMemoryStore(database),
    agents,
    worker: false,
    clock: { now: () => 1000 },
  });
  const unused = await runtime.sessions.open({ title: 'Not begun' });
  const unpriced = await runtime.sessions.open({ agent: agents[1], title: 'Without a price' });
  const priced = await runtime.sessions.open({ agent: agents[0], title: 'With a price' });
  await priced.limit({ tokens: 5000, activeMs: 600_000 });
  for (const session of [unpriced, priced]) await session.send('Go');
  await runtime.worker().runUntilIdle();
  await runtime.close();
  const cli = (argv: readonly string[], columns = 80) => callCliOn(database, argv, { columns });
  return { database, cli, priced: priced.id, unpriced: unpriced.id, unused: unused.id };
};

test('[CLIR13] usage shows what a session has used, and its limits if it has any', async () => {
  const { cli, priced, unpriced, unused } = await start();
  expect((await cli(['usage', priced])).out).toBe(
    `${priced}\n  turns         1\n  tokens        1,111 of 5,000\n  USD           0.02\n  time at work  0 ms of 10 min\n`,
  );
  expect((await cli(['usage', unpriced.slice(-8)])).out).toContain('\nUSD without 1 call to models of unknown price\n');
  expect(JSON.parse((await cli(['usage', unused, '--json'])).out)).toEqual({
    session: unused,
    spent: { turns: 0, tokens: 0, usd: 0, unpriced: 0, activeMs: 0 },
    limits: {},
  });
  expect(await cli(['usage', priced, '--limit', '3'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('leave out SESSION'),
  });
});

test('[CLIR13] usage without a session lists the sessions that changed last, with their total', async () => {
  const { cli, priced, unpriced, unused } = await start();
  const pipe = Number.POSITIVE_INFINITY;
  const { out, err } = await cli(['usage'], pipe);
  expect(err).toBe('');
  const lines = out.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines[0]).toEqual(['SESSION', 'TURNS', 'TOKENS', 'USD', 'ACTIVE', 'TITLE']);
  expect(lines.slice(1, 4)).toEqual(
    expect.arrayContaining([
      [priced, '1', '1,111/5,000', '0.02', '0 ms/10 min', 'With a price'],
      [unpriced, '1', '1,111', '0.00', '0 ms', 'Without a price'],
      [unused, '0', '0', '0.00', '0 ms', 'Not begun'],
    ]),
  );
  expect(lines[4]).toEqual(['total', '2', '2,222', '0.02', '0 ms', '3 sessions']);
  expect(out).toMatch(/\nUSD without 1 call to models of unknown price\n$/);
  const all = JSON.parse((await cli(['usage', '--all', '--json'])).out);
  expect(all).toMatchObject({ damaged: [], total: { turns: 2, tokens: 2222, usd: 0.02, unpriced: 1, activeMs: 0 } });
  expect(all.usage).toHaveLength(3);
  const page = await cli(['usage', '--limit', '1'], pipe);
  expect(page.err).toBe('there are more: `perdure usage --all` counts them\n');
  expect(page.out).toContain('1 session\n');
  const { cursor } = JSON.parse((await cli(['usage', '--limit', '1', '--json'])).out);
  expect(JSON.parse((await cli(['usage', '--cursor', cursor, '--json'])).out).usage).toHaveLength(2);
  expect((await cli(['usage', '--status', 'archived'])).out).toBe('no session is archived\n');
});

test('[CLIR13, CLI14] usage fits a terminal of 40 columns and still shows the tokens', async () => {
  const { cli, priced } = await start();
  for (const argv of [['usage'], ['usage', priced], ['show', priced]]) {
    const { out } = await cli(argv, 40);
    expect(out).toMatch(/1,111(\/| of )5,000/);
    for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(40);
  }
});

test('[CLIR27, FAULT2] unreadable sessions are named at the end and not counted', async () => {
  const { database, priced } = await start();
  const store = openMemoryStore(database);
  const damaged = overrideStore(store, {
    snapshot: async () => undefined,
    read: async (key, range) =>
      (await store.read(key, range)).map((event) =>
        key.session === priced ? { ...event, body: { kind: 'damaged', reason: 'by hand' } } : event,
      ),
  });
  const { code, out } = await callCli(['usage', '--store', 'memory'], {
    openRuntime: (options) => openRuntime({ ...options, store: damaged }),
    columns: Number.POSITIVE_INFINITY,
  });
  expect(code).toBe(0);
  expect(out).toMatch(/\ntotal +1 +1,111 /);
  expect(out).toMatch(new RegExp(`\nnot counted, .*: ${priced}; .*\n$`));
});

test('[CLIR27] show has a usage line when anything was used or is limited', async () => {
  const { cli, priced, unpriced, unused } = await start();
  expect((await cli(['show', priced])).out).toContain(
    '\nused 1,111 of 5,000 tokens, 0.02 USD, 0 ms of 10 min at work\n',
  );
  expect((await cli(['show', unpriced])).out).toContain('\nused 1,111 tokens\n');
  expect((await cli(['show', unused])).out).not.toContain('used');
  await cli(['limit', unused, '--turns', '3', '--usd', '2.50']);
  expect((await cli(['show', unused])).out).toContain('\nused 0.00 of 2.50 USD, 0 of 3 turns\n');
  expect(JSON.parse((await cli(['show', priced, '--json'])).out).usage).toMatchObject({
    spent: { tokens: 1111 },
    limits: { tokens: 5000 },
  });
});

test('[CLIR27] a key without the area usage sees a session without its usage', async () => {
  const { server, runtime } = await startTestServer({});
  const session = await runtime.sessions.open({ title: 'Mine' });
  const local = runtime.as({ workspace: 'local', member: 'local', role: 'admin' });
  const { token } = await local.keys.create({ member: 'local', role: 'admin', areas: ['sessions'] });
  const shown = await callCli(['show', session.id, '--json', '--server', server.url], { env: { PERDURE_KEY: token } });
  expect(JSON.parse(shown.out)).not.toHaveProperty('usage');
});
