import type { Context } from '../parse/command.ts';
import { commonOptions } from '../parse/common-options.ts';

/** Says how to see the next page of a listing: the same command with the cursor. */
export const noteOlder = async (
  context: Context,
  words: readonly (string | undefined)[],
  options: Readonly<Record<string, unknown>>,
  cursor: string | undefined,
  items = 'older ones',
): Promise<void> => {
  if (cursor === undefined) return;
  const filters = Object.entries({ ...options, cursor }).flatMap(([name, value]) => {
    if (Object.hasOwn(commonOptions, name)) return []; // `commandText` adds them
    if (typeof value === 'string') return [`--${name}`, value];
    return value === true ? [`--${name}`] : [];
  });
  const again = [...words.filter((word) => word !== undefined), ...filters];
  await context.note(`there are ${items}: ${context.commandText(...again)}`);
};
