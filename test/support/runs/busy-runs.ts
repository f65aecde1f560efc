import { expect } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../../src/core/ports/model.ts';
import { defineAgent, defineTool, openRuntime, type Session } from '../../../src/index.ts';
import { newStorePlace, type StoreKind } from '../stores/stores.ts';

/** What stops a run, and what the session must show as soon as the call has returned. */
export const switches = {
  cancel: async (session: Session) => {
    const run = await session.cancel();
    expect(run).toBeDefined();
    expect(await (await session.run(run!)).status()).toMatchObject({ status: 'cancelled' });
  },
  handoff: async (session: Session) => {
    await session.handoff({ to: 'human', reason: 'stop' });
    expect(await session.summary()).toMatchObject({ status: 'active', holder: 'human', waiting: 'human' });
  },
  'pause({ withinMs: 0 })': async (session: Session) => {
    await session.pause({ withinMs: 0 });
    expect(await session.summary()).toMatchObject({ status: 'paused' });
  },
  'pause()': async (session: Session) => {
    await session.pause();
    expect((await session.summary()).status).toMatch(/^paus(ing|ed)$/);
  },
} as const;
export type Switch = keyof typeof switches;

/** Stops `tries` runs, each in the middle of a step with 20 or more quick calls, from another runtime than the worker's. */
export const stopBusyRuns = async (
  kind: StoreKind,
  which: Switch,
  tries: number,
  maxCalls: number,
): Promise<number> => {
  const place = await newStorePlace(kind);
  let begun = 0;
  let onBegun: () => void = () => undefined;
  const tick = defineTool({
    name: 'tick',
    input: z.object({}),
    effects: 'none',
    execute: () => {
      begun += 1;
      onBegun();
      return 'ok';
    },
  });
  let calls = 20;
  let callId = 0;
  const model: Model = {
    name: 'test/busy',
    contextTokens: 1_000_000,
    price: null,
    answer: async () => ({
      parts: Array.from({ length: calls }, () => ({
        type: 'tool-call' as const,
        callId: `call_${callId++}`,
        tool: 'tick',
        input: {},
      })),
      finish: 'tool-calls',
      usage: { inputTokens: 1, outputTokens: 1 },
    }),
  };
  const agent = defineAgent({ name: 'busy', model, tools: [tick], policies: { maxSteps: 1000, maxCalls: 1000 } });
  const options = { store: place.address, agents: [agent], worker: false } as const;
  const [runs, people] = [await openRuntime(options), await openRuntime(options)];
  let landed = 0;
  try {
    await runs.worker({ concurrency: 1 }).start();
    for (let at = 0; at < tries; at++) {
      calls = at % 8 === 7 ? maxCalls : 20; // large answers cost the most time
      const session = await people.sessions.open({ agent });
      const reached = Promise.withResolvers<void>();
      const wanted = begun + 1 + ((at * 37) % 20);
      onBegun = () => {
        if (begun >= wanted) reached.resolve();
      };
      await session.send('Go');
      await reached.promise;
      await switches[which](session);
      landed += 1;
      if (which !== 'cancel') await session.cancel();
    }
  } finally {
    await people.close();
    await runs.close();
    await place.remove();
  }
  return landed;
};
