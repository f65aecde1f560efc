import { PassThrough, Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { callCli, callCliOn, recorder } from '../../../test/support/cli/call-cli.ts';
import { scriptedModel } from '../../../test/support/runs/scripted-model.ts';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { defineAgent, defineTool, openRuntime, type RuntimeOptions } from '../../index.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { demoAgent } from '../config/demo-agent.ts';
import type { World } from '../parse/world.ts';
import { personAt } from './person.ts';

const piped = (...lines: readonly string[]) => ({
  person: () => personAt(Readable.from(lines.map((line) => `${line}\n`)), new PassThrough() as never),
});

test('[CLIR23] a chat from a pipe with a paused session says so once, with advice', async () => {
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open', '--agent', 'demo'])).out.trim();
  await callCliOn(database, ['append', id, 'hello']);
  await callCliOn(database, ['pause', id]);
  const { code, err } = await callCliOn(database, ['chat', id], piped('hello', 'again'));
  expect(code).toBe(4);
  expect(err.split('it is paused, and inputs wait until it is resumed')).toHaveLength(2);
  expect(err).toContain(`perdure resume ${id}`);
});

test('[CLIR7] a program gets the pause as a line of JSON', async () => {
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open', '--agent', 'demo'])).out.trim();
  await callCliOn(database, ['append', id, 'hello']);
  await callCliOn(database, ['pause', id]);
  const { code, out } = await callCliOn(database, ['chat', id, '--json'], piped('hello'));
  expect(code).toBe(4);
  expect(JSON.parse(out)).toEqual({ session: id, run: expect.stringMatching(/^run_/), status: 'paused' });
});

/** One in-memory store for all calls, so that each is notified immediately of the changes of the others. */
const sharedStore = (own: Pick<RuntimeOptions, 'agents'> = {}) => {
  const store = overrideStore(openMemoryStore(), { close: async () => {} });
  const open = (options: Partial<RuntimeOptions> = {}) => openRuntime({ worker: false, ...options, ...own, store });
  const call = (argv: readonly string[], world: Partial<World> = {}) =>
    callCli([...argv, '--store', 'memory'], { openRuntime: open, ...world });
  return { open, call };
};

test('[CLIR7] a pause of an idle session is reported when it happens', async () => {
  const { call } = sharedStore();
  const id = (await call(['open', '--agent', 'demo'])).out.trim();
  await call(['append', id, 'hello']);
  const [typed, err] = [new PassThrough(), recorder()];
  const person = () => personAt(typed, new PassThrough() as never);
  const chatting = call(['chat', id], { person, err });
  typed.write('/nothing\n');
  await vi.waitFor(() => expect(err.bytes().toString()).toContain('there is no such command'));
  await call(['pause', id]);
  await vi.waitFor(() => expect(err.bytes().toString()).toContain('it is paused'));
  typed.end();
  expect(await chatting).toMatchObject({ code: 0 });
});

/** A session whose agent calls a tool that runs until the test releases it. */
const heldCall = async () => {
  const [begun, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const hold = defineTool({
    name: 'hold',
    input: z.object({}),
    execute: () => {
      begun.resolve();
      return letGo.promise;
    },
  });
  const model = scriptedModel([{ id: 'c1', tool: 'hold', input: {} }]);
  const { name, version } = demoAgent;
  const agent = defineAgent({ name, version, model, tools: [hold] });
  const { open, call } = sharedStore({ agents: [agent] });
  const runtime = await open();
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.open({ agent });
  const chatting = async (...lines: readonly string[]) => {
    const { code, out } = await call(['chat', session.id, '--json'], piped(...lines));
    return { code, outcomes: out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
  };
  return { session, chatting, begun: begun.promise, letGo: () => letGo.resolve('done') };
};
const run = expect.stringMatching(/^run_/);

test('[CLIR22] a program is notified when a run is paused during its work', async () => {
  const { session, chatting, begun, letGo } = await heldCall();
  const chat = chatting('hello');
  await begun;
  await session.pause();
  letGo();
  expect(await chat).toEqual({ code: 4, outcomes: [{ session: session.id, run, status: 'paused' }] });
});

test('[CLIR22] a program is notified once of each input that waits behind a paused run', async () => {
  const { session, chatting, begun, letGo } = await heldCall();
  const chat = chatting('hello', 'again');
  await begun;
  const queued = await session.send('from elsewhere');
  await session.pause();
  letGo();
  const { outcomes } = await chat;
  expect(outcomes).toEqual(Array(3).fill({ session: session.id, run, status: 'paused' }));
  expect(new Set(outcomes.map((each) => each.run)).size).toBe(3);
  expect(outcomes[1].run).toBe(queued.id);
});

test('[CLIR7] a run that ends is not reported as paused when the session is paused at its end', async () => {
  const { session, chatting, begun, letGo } = await heldCall();
  const chat = chatting('hello');
  await begun;
  await session.pause();
  await session.cancel();
  letGo();
  expect(await chat).toMatchObject({ outcomes: [{ run, status: 'cancelled' }] });
});
