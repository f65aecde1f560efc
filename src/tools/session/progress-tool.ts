import { z } from 'zod';
import { newId } from '../../schema/ids.ts';
import { defineTool } from '../define-tool.ts';
import { Note } from './entry-key.ts';

export const progressTool = defineTool({
  name: 'progress',
  description:
    'Adds a note on the progress of the work: what is done, what works, what is left. Later turns see the newest notes, and people can read all of them.',
  input: z.object({ note: Note }),
  effects: 'none',
  usesFiles: false,
  // Random, so that notes of two branches stay apart when one adopts the other.
  execute: () => ({ id: newId('note') }),
  change: (draft, { note }, { id }) => {
    draft.progress[id] = { note };
  },
  summarize: (_output, { note }) => `noted: ${note}`,
});
