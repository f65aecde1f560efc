import type { Watchers } from '../watchers.ts';
import type { ReaderOperations } from './serve-reads.ts';
import type { ThreadClient } from './thread-client.ts';

/** What came between asking for changes and getting them is not told one by one: so everyone looks once. */
export const followFile = (reader: ThreadClient<ReaderOperations>, watchers: Watchers): void => {
  reader.call('watch', []).then(
    () => watchers.wakeAll(),
    () => undefined,
  );
};
