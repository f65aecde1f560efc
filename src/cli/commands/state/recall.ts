import type { TranscriptEntry } from '../../../core/context/transcript.ts';
import { Json } from '../../../schema/json.ts';
import { defineCommand } from '../../parse/command.ts';
import { renderTranscript } from '../../render/render-transcript.ts';
import { printableJson } from '../../terminal/printable.ts';

const isTranscript = (found: unknown): found is readonly TranscriptEntry[] =>
  Array.isArray(found) && found.every((entry) => typeof entry === 'object' && entry !== null && 'message' in entry);

export const recall = defineCommand({
  name: 'recall',
  summary: 'show what a context leaves out, by its key or name',
  args: ['SESSION', 'WHAT'],
  options: {},
  notes: [
    'WHAT is turn:3, turns:1-4, file:PATH@turn:3, TOOL:INPUT@turn:3, call:ID, output:SEQ, fact:KEY, summary, or the name of a part of the state such as decisions.',
    '`perdure context` and `perdure compact` show the keys. The names that a context shows to its model work too.',
  ],
  examples: ['perdure recall ses_… turn:3', 'perdure recall ses_… fact:port'],
  json: Json,
  run: async (context, { args: [named, key] }) => {
    const found = await (await context.session(named!)).recall(key!);
    await context.answer(found, () =>
      /^(turns?[: ]|call:)/.test(key!) && isTranscript(found)
        ? renderTranscript(found, context.out)
        : printableJson(found, 2).split('\n'),
    );
  },
});
