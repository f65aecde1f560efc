import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Reach, Reached } from '../files/reach.ts';
import type { Store, StoredEvent } from '../ports/store.ts';
import { blobNamedBy, type NamedBlob } from '../session/events/blob-events.ts';
import { decodeEvent } from '../session/events/event-codec.ts';

const pageEvents = 256;

/**
 * Yields events that name blobs, page by page: all events of the workspace, or only a session's own, up to a seq. Skips
 * redacted events, because they no longer name a blob.
 */
export async function* readBlobEvents(
  store: Store,
  workspace: WorkspaceId,
  session?: SessionId,
  upTo = Number.POSITIVE_INFINITY,
): AsyncGenerator<{ readonly event: StoredEvent; readonly named: NamedBlob }, void, void> {
  for (let after: StoredEvent | undefined; ; ) {
    const page: readonly StoredEvent[] = await store.findBlobEvents(workspace, { session, after, limit: pageEvents });
    for (const event of page) {
      if (event.seq > upTo) return;
      const named = event.body.kind === 'redacted' ? undefined : blobNamedBy(decodeEvent(workspace, event));
      if (named) yield { event, named };
    }
    after = page.at(-1);
    if (!after) return;
  }
}

/** Yields the blobs that an event keeps, without the blobs that `reach` has already found for earlier events. */
export async function* reachOf(reach: Reach, named: NamedBlob): AsyncGenerator<Reached, void, void> {
  if (named.kind === 'tree') yield* reach.below(named.hash);
  else if (reach.meet(named.hash)) yield { ...named, path: '' };
}
