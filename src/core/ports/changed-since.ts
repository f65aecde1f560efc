import type { WorkspaceId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { ListQuery, Store } from './store.ts';

/**
 * The tolerance for clock differences, because times of change are set by the writers' clocks and hints may arrive
 * late.
 */
export const clockSkewMs = 60_000;
const limit = 100;

/**
 * Yields sessions that changed, newest change first. A session that changes during the iteration moves to the front
 * and is missed, so a caller that needs such sessions must also watch the store.
 */
export async function* changedSince(
  list: (...asked: Parameters<Store['list']>) => ReturnType<Store['list']>,
  workspace: WorkspaceId,
  sinceMs: number,
): AsyncGenerator<SessionSummary, void, void> {
  for (let after: ListQuery['after']; ; ) {
    const { sessions, next } = await list(workspace, { limit, after, since: sinceMs });
    yield* sessions;
    if (!next) return;
    after = next;
  }
}
