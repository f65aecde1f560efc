import { z } from 'zod';
import { PerdureError } from '../../../schema/error.ts';
import { Json } from '../../../schema/json.ts';
import { segmentsOfPointer } from '../../../schema/pointer.ts';
import type { State } from '../../../schema/state.ts';
import { StateView } from '../../../schema/views/session.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { parsePath } from '../../parse/commit-filter.ts';
import { optionalPoint } from '../../parse/point.ts';
import { type Part, parts } from '../../render/entry-text.ts';
import { renderPart, renderState } from '../../render/render-state.ts';
import { printableJson } from '../../terminal/printable.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const inside = (value: unknown, segment: string): unknown =>
  value !== null && typeof value === 'object' && Object.hasOwn(value, segment)
    ? (value as Record<string, unknown>)[segment]
    : undefined;

const partAt = (state: State, path: string): unknown => {
  const value = segmentsOfPointer(path).reduce<unknown>(inside, state);
  if (value !== undefined) return value;
  throw new PerdureError('POINT_NOT_FOUND', `the state has nothing at ${path}: leave out --path to see all of it`, {
    details: { path },
  });
};

const linesAt = (path: string, value: unknown, out: Terminal): readonly string[] => {
  const part = parts.find((each) => path === `/${each}`);
  if (!part) return printableJson(value, 2).split('\n');
  const lines = renderPart<Part>(part, value as State[Part], out);
  return lines.length > 0 ? lines : [`${path} is empty`];
};

export const state = defineCommand({
  name: 'state',
  summary: 'show the typed state of a session, now or at a point',
  args: ['SESSION'],
  options: {
    at: text('POINT', 'as it was at turn:3 (or just 3), or at seq:17'),
    path: text('PATH', 'only this part, such as /facts or /facts/port'),
  },
  notes: ['A PATH is a JSON Pointer: in a name, ~1 stands for a slash and ~0 for a tilde.'],
  examples: ['perdure state ses_…', 'perdure state ses_… --at turn:3', 'perdure state ses_… --path /facts/port --json'],
  json: z.union([StateView, Json]),
  run: async (context, { args, options }) => {
    const at = optionalPoint(options.at);
    const path = options.path === undefined ? undefined : parsePath(options.path);
    const found = await (await context.session(args[0]!)).state({ at });
    if (path !== undefined) {
      const value = partAt(found, path);
      return void (await context.answer(value, () => linesAt(path, value, context.out)));
    }
    await context.answer(found, () => {
      const lines = renderState(found, context.out);
      return lines.length > 0 ? lines : 'the state is empty: `perdure commit` adds to it';
    });
  },
});
