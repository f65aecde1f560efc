import { z } from 'zod';
import { ToolFailure } from '../../core/ports/tool.ts';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';

/** Less than the output of a call may have before it is cut, so that no piece is cut again. */
const maxChars = 16_000;

/** A long content in pieces. A piece never ends within a character. */
const pieceOf = (found: unknown, offset: number): unknown => {
  const text = typeof found === 'string' ? found : (JSON.stringify(found) ?? 'null');
  if (offset === 0 && text.length <= maxChars) return found;
  if (offset >= text.length) throw new ToolFailure(`the content has ${text.length} characters: use a smaller offset`);
  const piece = text.slice(offset, offset + maxChars).replace(/[\uD800-\uDBFF]$/, '');
  const next = offset + piece.length;
  return { text: piece.toWellFormed(), offset, of: text.length, ...(next < text.length && { next }) };
};

export const recallTool = defineTool({
  name: 'recall',
  description:
    'Returns content that was left out of the context, by the key or name shown in its place. Long content comes in pieces: pass `next` of a piece as offset to get the following one.',
  input: z.object({
    key: Text.min(1).max(500).describe('A key or name as shown, such as turn:3 or file src/a.ts as read in turn 4.'),
    offset: z.int().nonnegative().optional(),
  }),
  effects: 'none',
  usesFiles: false,
  execute: async ({ key, offset = 0 }, { recall }) => pieceOf(await recall(key), offset),
});
