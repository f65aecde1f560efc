import type { SessionCopy, SessionKey, Store } from '../../../core/ports/store.ts';
import { mustHead, readAll } from '../log/session-log.ts';

/** The copies that a bundle of these sessions contains, in the given order. Name parents first. */
export const copiesOf = (store: Store, keys: readonly SessionKey[]): Promise<readonly SessionCopy[]> =>
  Promise.all(
    keys.map(async (key) => ({
      session: key.session,
      parent: (await mustHead(store, key)).parent,
      events: (await readAll(store, key)).filter(({ session }) => session === key.session),
      keys: await store.keys(key),
    })),
  );

export async function* sendCopies(copies: readonly SessionCopy[]): AsyncGenerator<SessionCopy, void, void> {
  yield* copies;
}

/** The same copy in pieces of `size` events. The last piece contains the keys. */
export const inPieces = (copy: SessionCopy, size: number): readonly SessionCopy[] => {
  const starts = Array.from({ length: Math.ceil(copy.events.length / size) }, (_, i) => i * size);
  return starts.map((start) => ({
    ...copy,
    events: copy.events.slice(start, start + size),
    keys: start === starts.at(-1) ? copy.keys : [],
  }));
};
