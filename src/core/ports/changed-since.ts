import type { WorkspaceId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { ListQuery, Store } from './store.ts';

/** A tolerance, because times of change come from the writers' clocks and hints may be late. */
export const clockSkewMs = 60_000;
const limit = 100;

/**
 * Yields the newest change first. A session that changes meanwhile moves to the front and is missed, so a caller that
 * needs it must watch.
 */
export async function* changedSince(
  list: (...asked: Parameters<Store['list']>) => ReturnType<Store['list']>,
  workspace: WorkspaceId,
  sinceMs: number,
): AsyncGenerator<SessionSummary, void, void> {
  for (let after: ListQuery['after']; ; ) {
    const page: readonly SessionSummary[] = await list(workspace, { limit, after });
    const lately = page.filter(({ updatedAt }) => updatedAt >= sinceMs);
    yield* lately;
    after = lately.at(-1);
    if (lately.length < limit) return;
  }
}
