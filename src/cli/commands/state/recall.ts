import type { TranscriptEntry } from '../../../core/context/transcript.ts';
import { Json } from '../../../schema/json.ts';
import { defineCommand } from '../../parse/command.ts';
import { renderTranscript } from '../../render/render-transcript.ts';
import { printableJson } from '../../terminal/printable.ts';

export const recall = defineCommand({
  name: 'recall',
  summary: 'show what a context leaves out, by its key',
  args: ['SESSION', 'WHAT'],
  options: {},
  notes: [
    'WHAT is turn:3, turns:1-4, call:ID, output:SEQ, fact:KEY, summary, or the name of a part of the state such as decisions.',
  ],
  examples: ['perdure recall ses_… turn:3', 'perdure recall ses_… fact:port'],
  json: Json,
  run: async (context, { args: [named, key] }) => {
    const found = await (await context.session(named!)).recall(key!);
    await context.answer(found, () =>
      /^(turns?|call):/.test(key!) && Array.isArray(found)
        ? renderTranscript(found as readonly TranscriptEntry[], context.out)
        : printableJson(found, 2).split('\n'),
    );
  },
});
