import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { defineAgent, defineTool, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { mortalStore } from '../support/stores/mortal-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const usage = { inputTokens: 1, outputTokens: 1 };
const signs = { called: Promise.withResolvers<void>(), asked: Promise.withResolvers<void>() };

/** Calls `stuck` twice in one answer, or never answers. */
const modelThat = (does: Doing): Model => ({
  name: `test/${does}`,
  contextTokens: 100_000,
  price: null,
  answer: async ({ messages, signal }) => {
    if (messages.some(({ role }) => role === 'tool'))
      return { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage };
    if (does === 'asks a model') {
      signs.asked.resolve();
      return untilAborted(signal);
    }
    const part = (callId: string) => ({ type: 'tool-call' as const, callId, tool: 'stuck', input: {} });
    return { parts: [part('a'), part('b')], finish: 'tool-calls', usage };
  },
});
const stuck = defineTool({
  name: 'stuck',
  input: z.object({}),
  effects: 'none',
  execute: (_, { signal }) => {
    signs.called.resolve();
    return untilAborted(signal);
  },
});
type Doing = 'runs tools' | 'asks a model';

const stops: Record<string, (session: Session) => Promise<unknown>> = {
  cancel: (session) => session.cancel(),
  handoff: (session) => session.handoff({ to: 'human', reason: 'stop' }),
  'pause({ withinMs: 0 })': (session) => session.pause({ withinMs: 0 }),
};
const settled: Record<string, { summary: object; last: readonly string[] }> = {
  cancel: { summary: { status: 'active', holder: 'agent' }, last: ['run.ended'] },
  handoff: { summary: { status: 'active', holder: 'human', waiting: 'human' }, last: ['run.waiting'] },
  'pause({ withinMs: 0 })': { summary: { status: 'paused' }, last: ['session.paused', 'message.abandoned'] },
};

/** A process of another person, which settles whatever it finds by any command or with its worker. */
const settlers: Record<string, (runtime: Runtime, session: Session) => Promise<unknown>> = {
  'the next command': async (_, session) => session.update({ title: 'Later' }),
  'the next worker': async (runtime) => runtime.worker().runUntilIdle(),
  'a worker without the agent': async () => {
    const runtime = await openRuntime({ store: openMemoryStore(database), worker: false });
    await runtime.worker().runUntilIdle();
    await runtime.close();
  },
};
let database = newMemoryDatabase();

describe.each(Object.keys(stops))('%s', (stop) => {
  describe.each<Doing>(['runs tools', 'asks a model'])('of a run that %s', (doing) => {
    test.each(Object.keys(settlers))(
      '[RUN42, RUN43] that dies at any append is settled by %s, or has changed nothing',
      async (settler) => {
        const agent = defineAgent({ name: 'desk', model: modelThat(doing), tools: [stuck] });
        const opened = async (store: ReturnType<typeof openMemoryStore>): Promise<Runtime> => {
          const runtime = await openRuntime({ store, agents: [agent], worker: false, onWarning: () => undefined });
          undo.push(() => runtime.close());
          return runtime;
        };
        let isWhole = false;
        for (let at = 1; !isWhole; at++) {
          for (const place of ['before', 'after'] as const) {
            database = newMemoryDatabase();
            signs.called = Promise.withResolvers();
            signs.asked = Promise.withResolvers();
            const healthy = await opened(openMemoryStore(database));
            const session = await healthy.sessions.open({ agent });
            const run = await session.send('Go');
            const worker = healthy.worker();
            await worker.start();
            await (doing === 'runs tools' ? signs.called : signs.asked).promise;
            await worker.stop(); // its run is left at work
            const { mortal, died } = mortalStore(database, at, place);
            const dying = await (await opened(mortal)).sessions.get(session.id);
            const answer = await stops[stop]!(dying).then(
              () => 'answered',
              () => 'failed',
            );
            const isDead = await Promise.race([died.then(() => true), Promise.resolve().then(() => false)]);
            isWhole = !isDead;
            // The caller is answered by its first append alone.
            expect(answer, `${at} ${place}`).toBe(isDead && at === 1 ? 'failed' : 'answered');
            if (at === 1 && place === 'before') continue;
            await settlers[settler]!(healthy, session);
            const { summary, last } = settled[stop]!;
            expect(await session.summary(), `${at} ${place}`).toMatchObject(summary);
            const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
            expect(last, `${at} ${place}: ${types.join()}`).toContain(
              types.findLast((type) => type !== 'session.described'),
            );
            expect(types.filter((type) => type === 'run.ended')).toHaveLength(stop === 'cancel' ? 1 : 0);
            if (doing === 'asks a model') expect(types.filter((type) => type === 'message.abandoned')).toHaveLength(1);
            if (stop === 'cancel') {
              expect(await run.waitForEnd()).toMatchObject({ status: 'cancelled' });
              const calls = (await session.toolCalls()).calls;
              expect(calls.map(({ status }) => status)).toEqual(
                doing === 'runs tools' ? ['cancelled', 'cancelled'] : [],
              );
            }
            expect(await session.verify()).toMatchObject({ ok: true });
          }
        }
      },
    );
  });
});
