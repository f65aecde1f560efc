import { abortableGenerator } from '../concurrency/abortable-generator.ts';
import { type CommitRecord, commitRecord, meetsAll } from '../core/session/state/commit-record.ts';
import type { WatchFilter } from '../core/state/record-filter.ts';
import { parseInput } from '../schema/parse-input.ts';
import { PathPattern } from '../schema/path-pattern.ts';
import { followEvents } from './events.ts';
import type { Transport } from './transport.ts';

async function* commitsAfter(
  transport: Transport,
  session: string,
  start: Promise<number>,
  { signal, ...conditions }: WatchFilter,
): AsyncGenerator<CommitRecord, void, void> {
  for await (const event of followEvents(transport, session, { after: await start, signal })) {
    if (event.type !== 'state.committed') continue;
    const record = commitRecord(event);
    if (meetsAll(record, conditions)) yield record;
  }
}

/**
 * Yields every matching commit as it is written, starting from the time of this call, even if iteration begins later.
 */
export const watchCommits = (
  transport: Transport,
  session: string,
  { after, ...filter }: WatchFilter = {},
): AsyncGenerator<CommitRecord, void, void> => {
  if (filter.path !== undefined) parseInput('the filter', PathPattern, filter.path);
  const now = async () => (await transport.json<{ readonly seq: number }>(session)).seq;
  const start = after === undefined ? now() : Promise.resolve(after);
  start.catch(() => undefined); // the error is reported when iteration begins
  return abortableGenerator(filter.signal, (signal) => commitsAfter(transport, session, start, { ...filter, signal }));
};
