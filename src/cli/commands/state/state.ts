import type { State } from '../../../schema/state.ts';
import { StateOrPartView } from '../../../schema/views/session.ts';
import type { Waiting } from '../../../schema/waiting.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { parsePath } from '../../parse/commit-filter.ts';
import { optionalPoint } from '../../parse/point.ts';
import { type Part, parts } from '../../render/entry-text.ts';
import { renderPart, renderState } from '../../render/render-state.ts';
import { renderWaiting } from '../../render/waiting-lines.ts';
import { printableJson, printableLine } from '../../terminal/printable.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const linesAt = (path: string, value: unknown, out: Terminal): readonly string[] => {
  if (path === '/waiting') {
    const lines = renderWaiting(value as Waiting, out);
    return lines.length > 0 ? lines : ['the session waits for nothing'];
  }
  const part = parts.find((each) => path === `/${each}`);
  if (!part) return printableJson(value, 2).split('\n');
  const lines = renderPart<Part>(part, value as State[Part], out);
  return lines.length > 0 ? lines : [`${path} is empty`];
};

export const state = defineCommand({
  name: 'state',
  summary: 'show the typed state of a session and what it waits for, now or at a point',
  args: ['SESSION'],
  options: {
    at: text('POINT', 'as it was at turn:3 (or just 3), seq:17, or turn:5#1 for an attempt'),
    path: text('PATH', 'only this part, such as /facts or /facts/port'),
  },
  notes: ['A PATH is a JSON Pointer: in a name, ~1 stands for a slash and ~0 for a tilde.'],
  examples: [
    'perdure state ses_…',
    'perdure state ses_… --at turn:3',
    'perdure state ses_… --path /facts/port --json',
    'perdure state ses_… --path /waiting',
  ],
  json: StateOrPartView,
  run: async (context, { args, options }) => {
    const at = optionalPoint(options.at);
    const path = options.path === undefined ? undefined : parsePath(options.path);
    const session = await context.session(args[0]!);
    if (path !== undefined) {
      const value = await session.state({ at, path });
      return void (await context.answer(value, () => linesAt(path, value, context.out)));
    }
    const found = await session.state({ at });
    await context.answer(found, () => {
      const lines = renderState(found, context.out);
      return lines.length > 0 ? lines : 'the state is empty: `perdure commit` adds to it';
    });
    const { tainted } = await session.summary();
    if (tainted && !context.json) await context.note(`tainted by ${tainted.map(printableLine).join(', ')}`);
  },
});
