import { announceMissedChanges } from '../../waking/missed-changes.ts';
import type { Watchers } from '../../waking/watchers.ts';
import type { Reader } from './reader.ts';

/** What came between asking for changes and getting them is not told one by one: so everyone looks once. */
export const followFile = async (reader: Reader, watchers: Watchers): Promise<void> => {
  const askedMs = Date.now();
  try {
    await reader.call('watch', []);
    watchers.wakeAll();
    await announceMissedChanges(watchers, (workspace, query) => reader.call('list', [workspace, query]), askedMs);
  } catch {
    // A file that cannot be read just now: those who read it are told.
  }
};
