import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { type Agent, defineAgent, defineTool, type Session } from '../../src/index.ts';

/** Ways to stop a run, with the fact that each appends first. */
export const stops = {
  cancel: { fact: 'cancel.requested', now: (session: Session) => session.cancel() },
  handoff: { fact: 'session.handed', now: (session: Session) => session.handoff({ to: 'human' }) },
  pause: { fact: 'session.paused', now: (session: Session) => session.pause({ withinMs: 0 }) },
} as const;
export type StopName = keyof typeof stops;

export const callsAtOnce = 10;

/** Makes ten calls in one answer, and is done when it has their results. */
const model: Model = {
  name: 'test/busy',
  contextTokens: 100_000,
  price: null,
  answer: async ({ messages }) => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    if (messages.at(-1)?.role === 'tool') return { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage };
    const part = (_: unknown, index: number) => ({
      type: 'tool-call' as const,
      callId: `call_${index}`,
      tool: 'work',
      input: {},
    });
    return { parts: Array.from({ length: callsAtOnce }, part), finish: 'tool-calls', usage };
  },
};

/** An agent whose calls never end while `isStuck`. Calls `onStuck` once all calls of the answer are in flight. */
export const stuckAgent = (isStuck: () => boolean, onStuck: () => void = () => undefined): Agent => {
  let inFlight = 0;
  const work = defineTool({
    name: 'work',
    input: z.object({}),
    effects: 'none',
    execute: (_, { signal }) => {
      if (!isStuck()) return 'done';
      inFlight += 1;
      if (inFlight === callsAtOnce) onStuck();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  return defineAgent({ name: 'stuck', version: 1, model, tools: [work] });
};
