import { expect, test } from 'vitest';
import { z } from 'zod';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { defineAgent } from '../../../core/session/agent.ts';
import { defineScript } from '../../../models/script.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { defineTool } from '../../../tools/define-tool.ts';
import { displayWidth } from '../../terminal/display-width.ts';

const refund = defineTool({
  name: 'refund',
  input: z.object({ order: z.string() }),
  effects: 'once',
  approval: true,
  execute: ({ order }) => `refunded ${order}\u001b[31m`,
});
const desk = defineAgent({
  name: 'desk',
  version: 2,
  model: defineScript({
    name: 'desk',
    steps: [
      { calls: [{ tool: 'refund', input: { order: 'A1' } }] },
      { text: 'Done.' },
      { calls: [{ tool: 'refund', input: { order: 'A2' } }] },
      { text: 'Denied.' },
    ],
  }),
  tools: [refund],
});

const start = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database), agents: [desk], worker: false });
  const session = await runtime.sessions.open({ agent: desk });
  const open = () => openRuntime({ store: openMemoryStore(database), agents: [desk], worker: false });
  const cli = (argv: readonly string[], columns = Number.POSITIVE_INFINITY) =>
    callCliOn(database, argv, { columns, openRuntime: open, startDetached: () => {} });
  const json = async (...argv: readonly string[]) => JSON.parse((await cli([...argv, '--json'])).out);
  const work = () => runtime.worker().runUntilIdle();
  return { runtime, session, id: session.id, cli, json, work };
};

test('[VIEW14, VIEW4] approve and deny take a comment, which the log shows', async () => {
  const { runtime, session, id, cli, work } = await start();
  await session.send('Refund A1');
  await work();
  const [first] = await runtime.approvals.list();
  expect(await cli(['approve', first!.id, '--comment', 'this once'])).toMatchObject({ code: 0 });
  await work();
  await session.send('Refund A2');
  await work();
  const [second] = await runtime.approvals.list();
  expect(await cli(['deny', second!.id])).toMatchObject({ code: 2, err: expect.stringContaining('--comment') });
  expect(await cli(['deny', second!.id, '--comment', 'enough'])).toMatchObject({ code: 0 });
  await work();
  const { out } = await cli(['log', id]);
  expect(out).toContain('approved: this once');
  expect(out).toContain('denied: enough');
});

test('[VIEW14, VIEW2, VIEW3] calls --input shows inputs, outputs and where a result came from, without control characters', async () => {
  const { runtime, session, id, cli, json, work } = await start();
  await session.send('Refund A1');
  await work();
  await session.approve((await runtime.approvals.list())[0]!.id);
  await work();
  await session.send('Refund A2');
  await work();
  await session.deny((await runtime.approvals.list())[0]!.id, { comment: 'no' });
  await work();
  const { out } = await cli(['calls', id, '--input']);
  expect(out).toMatch(
    /seq:\d+ refund denied, from person, .*\n {2}→ \{"order":"A2"\}\n {2}← Denied: denied by member:local: no\n/,
  );
  expect(out).toMatch(/refund ok, .*\n {2}→ \{"order":"A1"\}\n {2}← refunded A1\\x1b\[31m\n/);
  expect((await cli(['calls', id])).out).toMatch(/STATUS +TOOK +TOOL +FROM +CALL\n.*denied .* refund +person/);
  expect(await json('calls', '--status', 'denied', '--input')).toMatchObject({
    calls: [{ status: 'denied', source: 'person', input: { order: 'A2' } }],
  });
});

test('[VIEW14, VIEW5, VIEW6] runs lists runs with what they wait for, on any width, and pages through them', async () => {
  const { runtime, session, id, cli, json, work } = await start();
  expect((await cli(['runs'])).out).toBe('no runs match\n');
  await session.send('Refund A1');
  await work();
  const waiting = (await cli(['runs', id])).out;
  expect(waiting).toMatch(/^RUN +STATUS +TRIES +AGENT +MODEL +TOKENS +USD +TOOK +TIME +WORKER +MACHINE +TOOLS +WHY\n/);
  expect(waiting).toMatch(
    /waiting +1 +desk@2 +scripted\/desk .* worker_\w+ .* refund +waits for an approval: refund \{"order":"A1"\}\n/,
  );
  await session.deny((await runtime.approvals.list())[0]!.id);
  await session.send('Thanks');
  await work();
  for (const columns of [40, 60, 80, 120]) {
    for (const line of (await cli(['runs'], columns)).out.split('\n')) {
      expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
    }
  }
  const { runs, cursor } = await json('runs', '--limit', '1');
  expect(runs).toMatchObject([{ status: 'waiting', input: 'Thanks', session: id }]);
  const { err } = await cli(['runs', '--since', '1h', '--limit', '1']);
  expect(err.replace(/\s+/g, ' ')).toContain(`--since 1h --limit 1 --cursor ${cursor}`);
  expect(await json('runs', '--cursor', cursor)).toMatchObject({ runs: [{ input: 'Refund A1' }], damaged: [] });
  expect(await json('runs', id, '--status', 'failed', '--since', '1h')).toEqual({ runs: [] });
  expect(await cli(['runs', '--cursor', 'x'])).toMatchObject({ code: 2 });
});

test('[VIEW10] show names the agent, the holder and the tools', async () => {
  const { runtime, session, id, cli, json } = await start();
  expect((await cli(['show', id])).out).toContain('agent desk@2 · held by its agent · tools: refund\n');
  expect(await json('show', id)).toMatchObject({ tools: ['refund'], summary: { agent: { name: 'desk', version: 2 } } });
  await session.handoff({ to: 'human' });
  expect((await cli(['show', id])).out).toContain('agent desk@2 · held by a person');
  expect((await cli(['ls'])).out).toMatch(new RegExp(`^${id} +open +human `, 'm'));
  const own = await runtime.sessions.open();
  expect((await cli(['show', own.id])).out).toContain('no agent · driven by your own loop\n');
});

test('[VIEW14] bind, lift, context and open --carry-from do what the library does', async () => {
  const { session, id, cli, json } = await start();
  const { id: own } = await json('open');
  expect(await json('bind', own, 'demo')).toMatchObject({ agent: { name: 'demo', version: 1 } });
  expect(await cli(['bind', own, 'nobody'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('there is no agent'),
  });
  await session.commit((draft) => {
    draft.facts.port = 8080;
  });
  expect(await json('lift', id, '/facts/port', '--to', 'verified', '--why', 'checked')).toMatchObject({
    origin: { kind: 'lift', paths: ['/facts/port'] },
    why: 'checked',
  });
  expect(await cli(['lift', id, '/facts/port'])).toMatchObject({ code: 2, err: expect.stringContaining('--to') });
  const carried = await json('open', '--carry-from', id.slice(-8));
  expect(await json('state', carried.id)).toMatchObject({ facts: { port: 8080 } });
  await session.append({ role: 'user', content: 'Which port?' });
  const { system, messages } = await json('context', id);
  expect(system).toContain('8080');
  expect(messages).toMatchObject([{ role: 'user' }]);
  const { out } = await cli(['context', id]);
  expect(out).toMatch(/^about \d+ tokens, from event \d+\nsystem\n/);
  expect(out).toContain('user\n  Which port?\n');
});
