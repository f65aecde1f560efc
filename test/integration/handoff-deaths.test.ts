import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { defineAgent, defineTool, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { handOffTool } from '../../src/tools/index.ts';
import { mortalStore } from '../support/stores/mortal-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const look = defineTool({ name: 'look', input: z.object({}), effects: 'none', execute: () => 'seen' });

/** A model that reads from the conversation which step is next, whichever worker asks. */
const modelOf = (tools: readonly string[]): Model => ({
  name: 'test/steps',
  contextTokens: 100_000,
  price: null,
  answer: async ({ messages }) => {
    const step = messages.filter(({ role }) => role === 'assistant').length;
    const tool = tools[step];
    const usage = { inputTokens: 1, outputTokens: 1 };
    if (!tool) return { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage };
    const part = { type: 'tool-call' as const, callId: `call_${step}`, tool, input: { reason: 'Help' } };
    return { parts: [part], finish: 'tool-calls', usage };
  },
});

const scripts = { 'by the agent': ['hand_off', 'look'], 'by a person': ['look', 'look'] };

const reportsIn = async (session: Session): Promise<number> =>
  JSON.stringify((await session.context()).messages).split('handed it back to you').length - 1;

describe.each(Object.entries(scripts))('a handoff %s', (who, tools) => {
  const agent = defineAgent({ name: 'desk', model: modelOf(tools), tools: [look, handOffTool] });
  const opened = async (store: ReturnType<typeof openMemoryStore>): Promise<Runtime> => {
    const runtime = await openRuntime({ store, agents: [agent], worker: false, onWarning: () => undefined });
    undo.push(() => runtime.close());
    return runtime;
  };

  test.each(['before', 'after'] as const)(
    '[HAND6, HAND8] is reported to the model once if a worker dies %s any append',
    async (place) => {
      let isWhole = false;
      for (let at = 1; !isWhole; at++) {
        const database = newMemoryDatabase();
        const people = await opened(openMemoryStore(database));
        const session = await people.sessions.open({ agent });
        if (who === 'by a person') await session.handoff({ to: 'human', reason: 'Help' });
        const run = await session.send('Go');
        const { mortal, died } = mortalStore(database, at, place);
        const dying = (await opened(mortal)).worker();
        await dying.start();
        const isDead = died.then(() => true);
        const rested = async (): Promise<boolean> => {
          await run.result();
          return false;
        };
        const heal = async (): Promise<void> => {
          await dying.stop();
          await people.worker().start();
        };
        let isHealed = false;
        if (who === 'by the agent' && (await Promise.race([isDead, rested()]))) {
          await heal();
          isHealed = true;
          expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'human' });
        }
        await session.append({ role: 'user', content: 'It is done.' });
        await session.handoff({ to: 'agent', reason: 'Go on' });
        isWhole = !isHealed && !(await Promise.race([isDead, rested()]));
        if (!isWhole && !isHealed) await heal();
        expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
        expect(await reportsIn(session), `a death ${place} append ${at}`).toBe(1);
        expect(await session.verify()).toMatchObject({ ok: true });
      }
    },
  );
});
