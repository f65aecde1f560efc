import { z } from 'zod';
import { Json } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { EntryKey } from './entry-key.ts';

export const rememberTool = defineTool({
  name: 'remember',
  description:
    'Keeps a fact by a key. It lasts as long as this session, in its forks too. A later session has it only if it is opened with carryFrom. The same key replaces an earlier fact.',
  input: z.object({ key: EntryKey, value: Json }),
  effects: 'none',
  usesFiles: false,
  execute: ({ key }) => ({ key }),
  change: (draft, { key, value }) => {
    draft.facts[key] = value;
  },
  summarize: ({ key }) => `remembered ${key}`,
});
