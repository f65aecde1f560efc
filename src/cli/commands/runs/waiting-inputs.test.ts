import { expect, onTestFinished, test } from 'vitest';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { demoAgent } from '../../config/demo-agent.ts';

/** A session with one answered turn, and no worker that would execute further inputs. */
const start = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({
    store: openMemoryStore(database),
    agents: [demoAgent],
    worker: false,
  });
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.open({ agent: demoAgent });
  await session.send('hello');
  await runtime.worker().runUntilIdle();
  const call = (...argv: readonly string[]) => callCliOn(database, argv);
  const json = async (...argv: readonly string[]) => JSON.parse((await call(...argv, '--json')).out);
  return { runtime, session, id: session.id, database, call, json };
};

test('[CLIR12, CLIR32] show counts the waiting inputs, even while a run waits or the session is paused', async () => {
  const { runtime, session, id, call, json } = await start();
  expect((await call('show', id)).out).not.toContain('input');
  expect(await json('show', id)).toMatchObject({ waitingInputs: 0 });
  await session.send('please delete it');
  expect((await call('show', id)).out).toMatch(/\n1 input waits\n/);
  await session.send('two');
  await session.send('three');
  await runtime.worker().runUntilIdle();
  expect((await call('show', id)).out).toMatch(/\nwaits for approval: .*\n {2}shell .*\n2 inputs wait\n/);
  await session.pause();
  expect((await call('show', id)).out).toMatch(/\n2 inputs wait\n/);
  expect(await json('show', id, '--at', '0')).toMatchObject({ waitingInputs: 2 });
});

test.each([
  ['rewind', ['--to', '1']],
  ['retry', ['1', '--detach']],
])('[CLIR12, CLIR32] %s reports how many waiting inputs it cancelled, if any', async (command, rest) => {
  const [idle, text, program] = [await start(), await start(), await start()];
  // A detached retry prints how to compare the attempts last.
  const report =
    command === 'retry' ? /; cancelled: 2\s+waiting\s+inputs\nto compare/ : /; cancelled: 2\s+waiting\s+inputs\n$/;
  expect((await idle.call(command, idle.id, ...rest)).out).not.toContain('input');
  for (const { session } of [text, program]) for (const input of ['two', 'three']) await session.send(input);
  const waiting = (await program.session.inputs()).map(({ run }) => run);
  expect((await text.call(command, text.id, ...rest)).out).toMatch(report);
  expect((await program.json(command, program.id, ...rest)).cancelled).toEqual(waiting);
});

test('[CLIR5, PLACE8] a turn that is retried with --detach continues in the background', async () => {
  const { session, id, database } = await start();
  const started: (readonly string[])[] = [];
  const retried = await callCliOn(database, ['retry', id, '1', '--detach'], {
    startDetached: (args) => void started.push(args),
  });
  expect(retried.code).toBe(0);
  expect(retried.out.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(`^turn 1 is tried again to compare .*: perdure diff ${id} 'turn:1#1' 'turn:1#2'`),
  );
  expect(retried.err.replaceAll(/\s+/g, ' ')).toContain(`it goes on in the background: perdure attach ${id}`);
  expect(started).toEqual([['worker', '--session', id, '--once']]);
  expect(await session.inputs()).toHaveLength(1);
});

test('[CLIR12, CLIR32] fork reports how many inputs that were waiting at its point still wait in the parent', async () => {
  const { runtime, session, id, call, json } = await start();
  expect(await call('fork', id)).toMatchObject({ err: '' });
  // The input of turn 1 waited at the end of turn 0, and has been answered since.
  expect(await json('fork', id, '--at', '0')).toMatchObject({ parent: id, leftBehind: [] });
  const later = await session.send('later', { notBefore: Date.now() + 3_600_000 });
  expect(await call('fork', id)).toMatchObject({ err: `left behind: 1 input waiting in ${id}\n` });
  await session.send('hello again');
  await runtime.worker().runUntilIdle();
  const last = await session.send('and more');
  expect((await json('fork', id)).leftBehind).toEqual([later.id, last.id]);
  expect((await json('fork', id, '--at', '1')).leftBehind).toEqual([later.id]);
  expect((await json('show', id)).waitingInputs).toBe(2);
});

test('[PLACE7] a retry follows its run, and prints the diff of both attempts when it is over', async () => {
  const { id, call, json } = await start();
  const retried = await call('retry', id, '1');
  expect(retried).toMatchObject({ code: 0, err: expect.stringMatching(/^turn 1 is tried again\n/) });
  expect(retried.out).toMatch(
    /^Hello! I am the demo script.*\nturn:1#1 → turn:1#2\n.*ses_\w+ from seq:\d+ to seq:\d+\n/s,
  );
  const again = await json('retry', id, '2');
  expect(again).toMatchObject({ attempts: { previous: { turn: 1, attempt: 2 }, next: { turn: 1, attempt: 3 } } });
  expect(again.diff).toMatchObject({
    from: { session: id },
    to: { session: id, seq: (await json('show', id)).summary.seq },
  });
});

test('[PLACE8] a retry whose run waits for a person prints the command that compares the attempts', async () => {
  const { runtime, session, id, call, json } = await start();
  const run = await session.send('please delete it');
  await runtime.worker().runUntilIdle();
  await session.cancel(run.id);
  const retried = await call('retry', id, '2', '--again');
  expect(retried.code).toBe(4);
  expect(retried.err.replaceAll(/\s+/g, ' ')).toContain(`perdure diff ${id} 'turn:2#1' 'turn:2#2'`);
  expect(retried.out).not.toContain('turn:2#1 →');
  await session.cancel();
  const waiting = await json('retry', id, '3', '--again');
  expect(waiting).not.toHaveProperty('diff');
});
