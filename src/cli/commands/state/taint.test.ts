import { expect, test } from 'vitest';
import { z } from 'zod';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { ask, obedientModel } from '../../../../test/support/runs/obedient-model.ts';
import { startTestServer } from '../../../../test/support/servers/http-server.ts';
import { connect } from '../../../client/connect.ts';
import { defineAgent, defineTool } from '../../../index.ts';
import { displayWidth } from '../../terminal/display-width.ts';

const fetchTool = defineTool({
  name: 'fetch',
  input: z.object({ url: z.string() }),
  effects: 'none',
  execute: () => 'a page\u001b[2J',
});
const refund = defineTool({ name: 'refund', input: z.object({ order: z.string() }), execute: () => 'refunded' });
const agent = defineAgent({ name: 'clerk', model: obedientModel(), tools: [fetchTool, refund] });

const start = async () => {
  const { runtime, server, keys, json } = await startTestServer({}, { agents: [agent] }, { hasWorker: false });
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent });
  await (await session.send(ask('fetch', { url: 'x' }))).result();
  const cli = async (...argv: readonly string[]) => {
    const done = await callCli([...argv, '--server', server.url], { env: { PERDURE_KEY: keys.approver } });
    const lines = argv.includes('--json') ? [] : done.out.split('\n');
    for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
    return done;
  };
  return { runtime, server, keys, json, session, cli };
};

test('[TAINT14, TAINT13] taint lists the sources, and taint clear vouches for them', async () => {
  const { session, cli } = await start();
  const { out } = await cli('taint', session.id);
  expect(out).toMatch(/data from outside is in the context, first by\n {2}fetch: event \d+ of ses_/);
  expect((await cli('show', session.id)).out).toContain('tainted by fetch: ');
  expect((await cli('state', session.id)).err).toContain('tainted by fetch');
  const { tainted, seq } = JSON.parse((await cli('taint', session.id, '--json')).out);
  expect([tainted, seq]).toEqual([true, (await session.summary()).seq]);
  expect(await cli('taint', 'clear', session.id)).toMatchObject({ code: 2 });
  expect((await cli('taint', 'clear', session.id, '--why', 'x', '--at', '1')).err).toContain('CONFLICT');
  expect((await cli('taint', 'clear', session.id, '--why', 'read it')).out).toContain('cleared of fetch');
  const after = (await cli('taint', session.id)).out;
  expect(after).toContain('the context is not tainted');
  expect(after).toMatch(/cleared .* by member:\S+: read it/);
  expect((await cli('log', session.id)).out).toContain('taint.cleared');
});

test('[TAINT11, TAINT12] approvals name the taint, and approve --for-source allows the tool for it', async () => {
  const { runtime, session, cli } = await start();
  const run = await session.send(ask('refund', { order: '1' }));
  expect(await run.result()).toMatchObject({ waitingFor: 'approval' });
  expect((await cli('approvals', session.id)).out).toContain('Tainted: data from outside is in the context');
  const [asked] = await runtime.approvals.list();
  const listed = JSON.parse((await cli('approvals', '--json')).out);
  expect(listed.sessions[0].approvals[0].taintedBy.sources).toMatchObject([{ tool: 'fetch' }]);
  expect((await cli('approve', asked!.id, '--for-source')).code).toBe(0);
  await run.waitForEnd();
  const next = await session.send(ask('refund', { order: '2' }));
  expect(await next.result()).toMatchObject({ status: 'succeeded' });
  expect((await cli('taint', session.id)).out).toContain('allowed for fetch: refund');
});

test('[TAINT14, TAINT13] the client and HTTP list and clear a taint', async () => {
  const { server, keys, json, session } = await start();
  const afar = await connect({ url: server.url, key: keys.approver }).sessions.get(session.id);
  const report = await afar.taint();
  expect(report).toEqual(await session.taint());
  expect(await json(`/v1/sessions/${session.id}/taint`)).toEqual(report);
  expect(await json(`/v1/sessions/${session.id}`)).toMatchObject({ tainted: ['fetch'] });
  const member = await connect({ url: server.url, key: keys.member }).sessions.get(session.id);
  await expect(member.clearTaint({ reason: 'x' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(await afar.clearTaint({ reason: 'read it', files: true, at: report.seq })).toEqual(report);
  expect(await afar.taint()).toMatchObject({ tainted: false });
});
