import { announceMissedChanges } from '../../waking/missed-changes.ts';
import type { Watchers } from '../../waking/watchers.ts';
import type { Reader } from './reader.ts';

/** Starts watching, and then wakes all watchers once, because earlier changes are not reported one by one. */
export const followFile = async (reader: Reader, watchers: Watchers): Promise<void> => {
  const askedMs = Date.now();
  try {
    await reader.call('watch', []);
    watchers.wakeAll();
    await announceMissedChanges(watchers, (workspace, query) => reader.call('list', [workspace, query]), askedMs);
  } catch {
    // The file cannot be read at the moment. Its readers report that.
  }
};
