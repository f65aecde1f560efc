import { z } from 'zod';
import { ToolFailure } from '../../core/ports/tool.ts';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { editedBefore, editText } from './edit-text.ts';
import { findInside, type Inside } from './inside.ts';
import { withFile } from './open-file.ts';
import { replaceFile } from './replace-file.ts';
import { assertText, sniffedBytes } from './text-kind.ts';

const maxBytes = 16 * 1024 * 1024;

/** Rejects a file that is not UTF-8, because writing it back would damage it. */
const readWhole = (inside: Inside): Promise<string> =>
  withFile(inside, async (file, size) => {
    if (size > maxBytes)
      throw new ToolFailure(`${inside.name} is larger than ${maxBytes} bytes: change it with a command`);
    const bytes = await file.readFile();
    assertText(bytes.subarray(0, sniffedBytes), inside.name);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new ToolFailure(`${inside.name} is not UTF-8: change it with a command`);
    }
  });

export const editTool = defineTool({
  name: 'edit',
  description:
    'Replaces text in a file of the session folder: old must match the file exactly and occur once, unless all is true.',
  input: z
    .object({ path: Text.min(1), old: Text.min(1), new: Text, all: z.boolean().optional() })
    .refine((edit) => edit.old !== edit.new, { error: 'old and new are the same' }),
  effects: 'once',
  confined: true,
  // As safe as `write`, which is idempotent.
  safeWhenTainted: true,
  // A failed edit shows similar text of the file.
  reads: ({ path }) => [path],
  execute: async ({ path, ...edit }, { folder, idempotencyKey }) => {
    const inside = await findInside(folder, path);
    const { text, places } = editText(inside.name, await readWhole(inside), edit);
    await replaceFile(inside, text, idempotencyKey);
    return { path: inside.name, places };
  },
  reconcile: async ({ path, ...edit }, { folder }) => {
    try {
      const inside = await findInside(folder, path);
      const edited = editedBefore(await readWhole(inside), edit);
      if (edited === 'yes') return { outcome: 'ok', output: { path: inside.name, places: edit.all ? null : 1 } };
      return { outcome: edited === 'no' ? 'not-run' : 'unknown' };
    } catch (error) {
      // The edit runs again and then reports why it fails.
      if (error instanceof ToolFailure) return { outcome: 'not-run' };
      throw error;
    }
  },
  summarize: ({ path, places }) => `edited ${path}${places > 1 ? ` in ${places} places` : ''}`,
});
