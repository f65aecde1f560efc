import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import { EntryKey, Note } from './entry-key.ts';

export const decideTool = defineTool({
  name: 'decide',
  description: 'Records a decision and why it was made. With the id of an earlier decision, it replaces that one.',
  input: z.object({ id: EntryKey.optional(), what: Note, why: Note }),
  effects: 'none',
  usesFiles: false,
  execute: ({ id }, { callId }) => ({ id: id ?? callId }),
  change: (draft, { what, why }, { id }) => {
    draft.decisions[id] = { what, why };
  },
  summarize: (_output, { what }) => `decided: ${what}`,
});
