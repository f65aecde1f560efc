import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import type { Agent } from '../../src/index.ts';
import type { Library } from '../library.ts';

/** A model that answers immediately: it calls the tool, and ends when it has the result. */
const noopModel: Model = {
  name: 'bench/noop',
  contextTokens: 100_000,
  price: null,
  answer: async ({ messages }) => {
    const isCalled = messages.at(-1)!.role === 'tool';
    return {
      parts: [
        isCalled
          ? { type: 'text', text: 'Done.' }
          : { type: 'tool-call', callId: `call_${messages.length}`, tool: 'noop', input: {} },
      ],
      finish: isCalled ? 'stop' : 'tool-calls',
      usage: { inputTokens: 10, outputTokens: 5 },
    };
  },
};

export const noopAgent = ({ defineAgent, defineTool }: Pick<Library, 'defineAgent' | 'defineTool'>): Agent =>
  defineAgent({
    name: 'noop',
    version: 1,
    model: noopModel,
    tools: [defineTool({ name: 'noop', input: z.object({}), effects: 'none', execute: () => 'ok' })],
  });
