import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { EntryKey, Note } from './entry-key.ts';

export const decideTool = defineTool({
  name: 'decide',
  description:
    'Records a decision and why it was made, and if you know them, how sure you are (confidence, 0 to 1) and what you decided against (alternatives). With the id of an earlier decision, it replaces that one.',
  input: z.object({
    id: EntryKey.optional(),
    what: Note,
    why: Note,
    confidence: z.number().min(0).max(1).optional(),
    alternatives: z.array(Text.min(1).max(500)).max(20).optional(),
  }),
  effects: 'none',
  usesFiles: false,
  execute: ({ id }, { callId }) => ({ id: id ?? callId }),
  change: (draft, { what, why, confidence, alternatives }, { id }) => {
    draft.decisions[id] = {
      what,
      why,
      ...(confidence !== undefined && { confidence }),
      ...(alternatives && { alternatives }),
    };
  },
  summarize: (_output, { what }) => `decided: ${what}`,
});
