import { expect, test } from 'vitest';
import { callCli, callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { startTestServer } from '../../../../test/support/servers/http-server.ts';
import type { Model } from '../../../core/ports/model.ts';
import { defineAgent } from '../../../index.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { usageCsv } from '../../render/usage-csv.ts';
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
  const none = { tokens: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, usd: 0, unpriced: 0 };
  expect(JSON.parse((await cli(['usage', unused, '--json'])).out)).toEqual({
    session: unused,
    spent: { turns: 0, tokens: 0, usd: 0, unpriced: 0, activeMs: 0 },
    limits: {},
    own: none,
    children: none,
    inherited: none,
  });
  const { out } = await cli(['fork', priced]);
  expect((await cli(['usage', out.trim()])).out).toMatch(
    /its own +0 tokens, 0\.00 USD\n.*\n +inherited +1,111 tokens, 0\.02 USD\n/,
  );
  const [row, ...others] = JSON.parse((await cli(['usage', priced, '--by', 'model', '--json'])).out).rows;
  expect([row, others]).toMatchObject([{ key: 'test/model', own: { tokens: 1111 } }, []]);
});

test('[CLIR13, COST12] usage without a session lists those that called a model, with the total', async () => {
  const { cli, priced, unpriced } = await start();
  const pipe = Number.POSITIVE_INFINITY;
  const { out, err } = await cli(['usage'], pipe);
  expect(err).toBe('');
  const lines = out.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines[0]).toEqual(['SESSION', 'CALLS', 'TOKENS', 'USD', 'SUBAGENTS', 'INHERITED', 'TITLE']);
  expect(lines.slice(1, 3)).toEqual([
    [priced, '1', '1,111', '0.02', '0', '0', 'With a price'],
    [unpriced, '1', '1,111', '0.00', '0', '0', 'Without a price'],
  ]);
  expect(lines[3]!.slice(0, 4)).toEqual(['total', '2', '2,222', '0.02']);
  expect(out).toMatch(/\nUSD without 1 call to models of unknown price\n$/);
  const all = JSON.parse((await cli(['usage', '--all', '--json'])).out);
  expect(all).toMatchObject({ by: 'session', total: { calls: 2, tokens: 2222, usd: 0.02, unpriced: 1 } });
  const page = await cli(['usage', '--limit', '1'], pipe);
  expect(page.err).toBe('there are more: `perdure usage --all` lists them\n');
  expect(page.out).toMatch(/\ntotal +2 +2,222 /);
  const { cursor } = JSON.parse((await cli(['usage', '--limit', '1', '--json'])).out);
  expect(JSON.parse((await cli(['usage', '--cursor', cursor, '--json'])).out).rows).toHaveLength(1);
});

test('[COST12] a month of a member is one command, as a table, CSV or JSON', async () => {
  const { cli } = await start();
  const month = ['usage', '--month', '1970-01', '--member', 'local', '--by', 'agent'];
  expect((await cli([...month, '--csv'])).out).toBe(
    [
      'agent,calls,tokens,input_tokens,output_tokens,cached_tokens,usd,unpriced_calls',
      'priced,1,1111,1000,111,0,0.02,0',
      'unpriced,1,1111,1000,111,0,0,1',
      '',
    ].join('\n'),
  );
  expect((await cli(['usage', '--by', 'month'])).out).toMatch(/^MONTH \(UTC\) .*\n1970-01 +2 +2,222 +0\.02\n/);
  expect((await cli(['usage', '--csv'])).out.split('\n')[0]).toMatch(/,children_tokens,children_usd,inherited_tokens,/);
  expect((await cli(['usage', '--month', '1970-02', '--member', 'local'])).out).toBe('no model was called\n');
  expect((await cli(['usage', '--member', 'ben'])).out).toBe('no model was called\n');
  expect(JSON.parse((await cli(['usage', '--by', 'workspace', '--json'])).out).rows).toMatchObject([{ key: 'local' }]);
  expect(JSON.parse((await cli(['usage', '--until', '1970-01-01', '--json'])).out).total.calls).toBe(0);
  for (const [wrong, why] of [
    [['--month', '2026-13'], '--month is a month such as 2026-11'],
    [['--month', '2026-11', '--since', '7d'], 'leave out --since and --until'],
    [['--all', '--limit', '3'], 'leave out --limit and --cursor'],
    [['--csv', '--json'], '--csv and --json exclude each other'],
    [['--by', 'week'], '--by'],
  ] as const) {
    expect(await cli(['usage', ...wrong], Number.POSITIVE_INFINITY)).toMatchObject({
      code: 2,
      err: expect.stringContaining(why),
    });
  }
});

test('[CLIR13, CLI14] usage fits a terminal of 40 columns and still shows the tokens', async () => {
  const { cli, priced } = await start();
  for (const argv of [['usage'], ['usage', priced], ['show', priced]]) {
    const { out } = await cli(argv, 40);
    expect(out).toContain('1,111');
    for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(40);
  }
});

test('[COST12] a key in CSV is quoted, and cannot act as a formula', () => {
  const none = { tokens: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, usd: 0, unpriced: 0 };
  const rows = ['=1+1', 'a,"b"', undefined].map((key) => ({ ...(key !== undefined && { key }), calls: 0, own: none }));
  expect(usageCsv({ by: 'model', rows }).slice(1)).toEqual([
    `'=1+1,0,0,0,0,0,0,0`,
    '"a,""b""",0,0,0,0,0,0,0',
    ',0,0,0,0,0,0,0',
  ]);
});

test('[COST13] open sets the budget with the options of limit', async () => {
  const { cli } = await start();
  const { out } = await cli(['open', '--tokens', '50000', '--usd', '0.50', '--turns', '20', '--active', '10min']);
  expect(JSON.parse((await cli(['usage', out.trim(), '--json'])).out).limits).toEqual({
    tokens: 50_000,
    usd: 0.5,
    turns: 20,
    activeMs: 600_000,
  });
  expect(await cli(['open', '--usd', 'much'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--usd is an amount'),
  });
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
