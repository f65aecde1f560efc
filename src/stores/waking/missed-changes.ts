import { changedSince, clockSkewMs } from '../../core/ports/changed-since.ts';
import type { Watchers } from './watchers.ts';

/** What came while nobody listened is not told one by one: so those who watch a workspace hear of all that changed there since, and a little before. */
export const announceMissedChanges = async (
  watchers: Watchers,
  list: Parameters<typeof changedSince>[0],
  sinceMs: number,
): Promise<void> => {
  for (const workspace of watchers.heardWorkspaces) {
    for await (const { id, seq } of changedSince(list, workspace, sinceMs - clockSkewMs)) {
      watchers.tell({ workspace, session: id, seq });
    }
  }
};
