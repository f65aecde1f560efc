import type { WorkspaceId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { ListQuery, Store } from './store.ts';

/** Times of change come from the clocks of writers, and hints may be late. */
export const clockSkewMs = 60_000;
const limit = 100;

/** Newest change first. A session that changes meanwhile moves to the front, which is not read again: whoever needs that watches. */
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
