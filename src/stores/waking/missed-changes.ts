import { changedSince, clockSkewMs } from '../../core/ports/changed-since.ts';
import type { Watchers } from './watchers.ts';

/**
 * Reports every session that changed since `sinceMs` to the watchers of its workspace, because notifications get lost
 * while nothing listens. Starts a little earlier, to allow for clock skew.
 */
export const announceMissedChanges = async (
  watchers: Watchers,
  list: Parameters<typeof changedSince>[0],
  sinceMs: number,
): Promise<void> => {
  for (const workspace of watchers.heardWorkspaces) {
    for await (const { id, seq, updatedAt } of changedSince(list, workspace, sinceMs - clockSkewMs)) {
      watchers.tell({ workspace, session: id, seq, at: updatedAt });
    }
  }
};
