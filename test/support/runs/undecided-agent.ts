import { z } from 'zod';
import { type Agent, defineAgent, defineScript, defineTool } from '../../../src/index.ts';
import { writeTool } from '../../../src/tools/files/write-tool.ts';
import { decideTool } from '../../../src/tools/session/decide-tool.ts';

const sides = ['left', 'right', 'middle', 'up'] as const;

/**
 * An agent whose attempts differ: it tosses, decides for the side that comes next, writes the side to `way.txt`, and
 * answers with it. To "pay", it first makes a call with effects.
 */
export const undecidedAgent = (): Agent => {
  let tosses = 0;
  const toss = defineTool({
    name: 'toss',
    input: z.object({}),
    effects: 'none',
    usesFiles: false,
    execute: () => sides[tosses++ % sides.length]!,
  });
  const pay = defineTool({
    name: 'pay',
    input: z.object({ to: z.string() }),
    effects: 'once',
    repeat: 'allow',
    usesFiles: false,
    execute: ({ to }) => `paid ${to}`,
  });
  const goes = sides.flatMap((side) => [
    {
      when: { last: { tool: 'toss', matches: side } },
      calls: [
        { tool: 'decide', input: { id: 'way', what: side, why: `the coin says ${side}` } },
        { tool: 'write', input: { path: 'way.txt', content: `${side}\n` } },
      ],
    },
    { when: { last: { tool: 'write', matches: `${side.length + 1}` } }, text: `Go ${side}.` },
  ]);
  const model = defineScript({
    name: 'undecided',
    everyTurn: true,
    steps: [
      { when: { userMatches: 'pay', answers: 0 }, calls: [{ tool: 'pay', input: { to: 'Ann' } }] },
      { calls: [{ tool: 'toss', input: {} }] },
      ...goes,
    ],
  });
  return defineAgent({ name: 'undecided', version: 1, model, tools: [toss, pay, decideTool, writeTool] });
};

/** Sends a text and waits for its answer. */
export const ask = async (
  session: { send(text: string): Promise<{ result(): Promise<{ readonly status: string }> }> },
  text: string,
): Promise<void> => {
  const { status } = await (await session.send(text)).result();
  if (status !== 'succeeded') throw new Error(`the run of "${text}" is ${status}`);
};
