import { Trace } from '../../../schema/trace.ts';
import { defineCommand, flag, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { drawTrace } from '../../render/draw-trace.ts';

export const trace = defineCommand({
  name: 'trace',
  summary: 'show what a fact, decision or file rests on, and what rests on it',
  args: ['SESSION', 'ENTRY'],
  options: {
    back: flag('only what it rests on'),
    forward: flag('only what rests on it'),
    depth: text('N', 'at most N steps away, by default 20'),
    limit: text('N', 'at most N nodes in each direction, by default 200'),
  },
  notes: [
    'ENTRY is an entry of the state such as /facts/port, a file such as files:src/a.ts or src/a.ts, or an event such as seq:17.',
    'A trace shows only what logs prove: sources that a commit names, the call behind it, the message that asked for the call, and what the model had read in that turn.',
  ],
  examples: [
    'perdure trace ses_… /facts/port',
    'perdure trace ses_… /facts/port --back',
    'perdure trace ses_… seq:17 --forward --json',
  ],
  json: Trace,
  run: async (context, { args: [named, entry], options }) => {
    const depth = parseCount('--depth', options.depth, 1);
    const limit = parseCount('--limit', options.limit, 1);
    const isBoth = options.back === options.forward;
    const sides = { back: isBoth || options.back === true, forward: isBoth || options.forward === true };
    const session = await context.session(named!);
    const direction = isBoth ? 'both' : sides.back ? 'back' : 'forward';
    const found = await session.trace(entry!, { direction, depth, limit });
    await context.answer(found, () => drawTrace(found, session.id, sides, context.out));
  },
});
