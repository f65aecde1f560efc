import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Model, ModelRequest } from '../src/core/ports/model.ts';
import { type Figure, show } from './figure.ts';
import type { Library } from './library.ts';
import { median } from './statistics.ts';
import { realContent } from './workload.ts';

/** How byte-pair tokenizers split a text before they look pieces up: words, up to three digits, signs, white space. */
const pieces = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+/gu;

/**
 * Counts tokens like a provider, without its vocabulary: a frequent word is one token, a long one several, and two
 * signs are one.
 */
const countTokens = (text: string): number =>
  (text.match(pieces) ?? []).reduce((sum, piece) => {
    const letters = piece.trimStart().length;
    return sum + (/\p{L}/u.test(piece) ? Math.ceil(letters / 7) : /\S/.test(piece) ? Math.ceil(letters / 2) : 1);
  }, 0);

const tokensOf = ({ instructions, messages, tools }: ModelRequest): number =>
  countTokens([instructions, ...[...messages, ...tools].map((each) => JSON.stringify(each))].join('\n'));

const steps = 20;

/** A model that calls a tool in every step but the last. It reports the tokens of each request. */
const countingModel = (counted: number[]): Model => ({
  name: 'bench/counting',
  contextTokens: 200_000,
  price: { input: 1, output: 1 },
  answer: async (request) => {
    counted.push(tokensOf(request));
    const step = counted.length;
    return {
      parts:
        step % steps === 0
          ? [{ type: 'text', text: 'Done.' }]
          : [{ type: 'tool-call', callId: `call_${step}`, tool: 'tool_1', input: { path: `src/${step}.ts` } }],
      finish: 'stop',
      usage: { inputTokens: counted.at(-1)!, outputTokens: 20, usd: 0 },
    };
  },
});

const percentOff = (estimate: number, actual: number): number => Math.abs(estimate / actual - 1) * 100;

/** How far the estimated size of a request is from the tokens that the provider counts. */
export const estimateError = async ({ defineAgent, defineTool, openRuntime }: Library): Promise<readonly Figure[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const content = realContent();
  const input = z.object({
    path: z.string().describe('The path of the file, relative to the folder of the session.'),
    limit: z.number().optional().describe('The maximum number of lines to return.'),
  });
  const tools = Array.from({ length: 17 }, (_, index) =>
    defineTool({
      name: `tool_${index + 1}`,
      description: content.prose(200),
      input,
      effects: 'none',
      execute: () => content.source(4096),
    }),
  );
  const counted: number[] = [];
  const agent = defineAgent({ name: 'bench', model: countingModel(counted), tools, instructions: content.prose(2000) });
  const runtime = await openRuntime({ store: `sqlite:${join(folder, 'perdure.db')}`, agents: [agent] });
  const session = await runtime.sessions.open({ agent });
  await (await session.send('Go')).waitForEnd();
  const called = (await Array.fromAsync(session.events())).flatMap((event) =>
    event.type === 'model.called' ? [event.payload] : [],
  );
  await runtime.close();
  await rm(folder, { recursive: true });
  const offBy = called.map(({ requestTokens, estimatedTokens = 0 }, index) => ({
    corrected: percentOff(requestTokens, counted[index]!),
    plain: percentOff(estimatedTokens, counted[index]!),
  }));
  const later = offBy.slice(1);
  return [
    {
      name: 'the first request of a session, estimated',
      value: offBy[0]!.plain,
      unit: '%',
      detail: `off by this much: ${called[0]!.requestTokens} for ${counted[0]} tokens, with 17 tools`,
    },
    {
      name: 'later requests, corrected by what the provider reported',
      value: median(later.map(({ corrected }) => corrected)),
      unit: '%',
      target: { atMost: 10 },
      detail: `median of ${later.length}; without the correction ${show(median(later.map(({ plain }) => plain)), '%')}`,
    },
  ];
};
