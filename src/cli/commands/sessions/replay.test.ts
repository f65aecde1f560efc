import { expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { demoAgent } from '../../config/demo-agent.ts';
import { displayWidth } from '../../terminal/display-width.ts';

/**
 * A session of the demo agent with one answered turn, and a command line on its store. The agent answers without
 * pauses.
 */
const start = async (asked: string) => {
  const database = newMemoryDatabase();
  const options = { agents: [demoAgent] };
  const open = () => openRuntime({ worker: false, ...options, store: openMemoryStore(database) });
  const runtime = await open();
  const session = await runtime.sessions.open({ agent: demoAgent });
  const run = await session.send(asked);
  await runtime.worker().runUntilIdle();
  await run.result();
  const seqBefore = (await session.summary()).seq;
  await runtime.close();
  const cli = (...argv: readonly string[]) => callCli([...argv, '--store', 'memory'], { openRuntime: open });
  return { id: session.id, cli, seqBefore };
};

test('[CLIR9] a turn replayed by the same agent has no departure from its recording, and the session is unchanged', async () => {
  const { id, cli, seqBefore } = await start('hello');
  expect(await cli('replay', id, '1')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^replayed in ses_\w+\nit departs nowhere\n$/),
  });
  expect(JSON.parse((await cli('replay', id, 'turn:1', '--json')).out)).toEqual({
    session: expect.stringMatching(/^ses_/),
    departures: [],
  });
  expect(JSON.parse((await cli('show', id, '--json')).out).summary.seq).toBe(seqBefore);
});

test('[CLIR9] a cancelled turn is compared up to its cancellation', async () => {
  const { id, cli } = await start('ask');
  expect(await cli('replay', id, '1')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nit departs nowhere, as far as the recorded run has come\n$/),
  });
  await cli('cancel', id);
  expect(await cli('replay', id, '1')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nit departs nowhere, up to where the recorded run was cancelled\n$/),
  });
  expect(JSON.parse((await cli('replay', id, '1', '--json')).out)).toMatchObject({ departures: [], upTo: 'cancelled' });
});

test('[CLI20, CLIR9] the session that a replay creates can be inspected, but `-` does not select it', async () => {
  const { id, cli } = await start('hello');
  const json = async (...argv: readonly string[]) => JSON.parse((await cli(...argv, '--json')).out);
  const { session } = await json('replay', '-', '1');
  expect((await json('show', '-')).summary.id).toBe(id);
  expect((await json('show', session)).summary).toMatchObject({ status: 'archived', title: 'replay of turn 1' });
  expect((await cli('log', session)).code).toBe(0);
  expect((await cli('diff', id, '1', session)).code).toBe(0);
  expect((await cli('append', '-', 'go on')).out).toContain(id);
});

test('[CLIR9] a replay with another model shows the departures on lines that fit the terminal, and exits with 1', async () => {
  const { id, cli } = await start('hello');
  const { code, out } = await cli('replay', id, '1', '--model', 'scripted/demo');
  expect(code).toBe(1);
  expect(out).toMatch(
    /it departs in 2 places\n {2}1 ~ request model "scripted\/\S+" → "scripted\/demo"\n {2}2 ~ end output "Hello/,
  );
  expect(out).toContain('Hello! I am the demo script');
  for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
  const { departures } = JSON.parse((await cli('replay', id, '1', '--model', 'scripted/demo', '--json')).out);
  expect(departures).toMatchObject([
    { step: 1, what: 'request', replayed: { model: 'scripted/demo' } },
    { step: 2, what: 'end' },
  ]);
});

test.each([
  [['1', '--model', 'nowhere/none'], 8, /HOSTED_MODEL_UNAVAILABLE/],
  [['1', '--agent', 'nobody'], 2, /no agent "nobody"/],
  [['7'], 5, /POINT_NOT_FOUND/],
  [['x'], 2, /TURN/],
])('[CLIR9] %j is refused', async (args, code, error) => {
  const { id, cli } = await start('hello');
  const ended = await cli('replay', id, ...args);
  expect({ ...ended, err: ended.err.replaceAll('\n', ' ') }).toMatchObject({ code, err: expect.stringMatching(error) });
});
