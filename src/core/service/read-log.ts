import { PerdureError } from '../../schema/error.ts';
import type { SessionKey, Store, StoredEvent } from '../ports/store.ts';

const pageEvents = 256;
const pageBytes = 2 * 1024 * 1024;

const missing = ({ session }: SessionKey, seq: number): PerdureError =>
  new PerdureError(
    'EVENT_DAMAGED',
    `event ${seq} of ${session} is missing; run \`perdure verify ${session}\` and restore it from an export or a backup`,
    { details: { session, seq, reason: 'it is missing' } },
  );

/** The events after `after` in order, page by page, to `upTo` or to the end there is. A gap is an error, never passed over. */
export async function* readForward(
  store: Store,
  key: SessionKey,
  { after, upTo }: { readonly after: number; readonly upTo?: number },
): AsyncGenerator<StoredEvent, void, void> {
  let cursor = after;
  while (upTo === undefined || cursor < upTo) {
    const bounds = { after: cursor, limit: pageEvents, maxBytes: pageBytes, ...(upTo !== undefined && { upTo }) };
    const page = await store.read(key, bounds);
    if (page.length === 0 && upTo === undefined) return;
    if (page.length === 0) throw missing(key, cursor + 1);
    for (const event of page) {
      if (event.seq !== cursor + 1) throw missing(key, cursor + 1);
      cursor = event.seq;
      yield event;
    }
  }
}

/** The events from `from` to `to`, newest first. */
export async function* readBackward(
  store: Store,
  key: SessionKey,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<StoredEvent, void, void> {
  for (let next = to; next >= from; ) {
    const bounds = {
      after: from - 1,
      upTo: next,
      limit: pageEvents,
      maxBytes: pageBytes,
      order: 'descending',
    } as const;
    const page = await store.read(key, bounds);
    if (page.length === 0) throw missing(key, next);
    for (const event of page) {
      if (event.seq !== next) throw missing(key, next);
      next -= 1;
      yield event;
    }
  }
}
