import { Text } from '../../schema/json.ts';

/** The id of an entry of the state. */
export const EntryKey = Text.min(1)
  .max(200)
  .refine((key) => key !== '__proto__', { error: 'cannot be a key: choose another name' });

export const Note = Text.min(1).max(20_000);
