import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { eventsWithin, joinRanges, rangesAt } from './events-within.ts';

const seqsIn = (ranges: readonly (readonly [number, number])[]): readonly number[] =>
  ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, n) => from + n));

const range = fc
  .tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 12 }))
  .map(([from, length]) => [from, from + length] as const);

test('[WHY5] joined ranges have the same events, in order and apart, and the last ones of a limit', () => {
  fc.assert(
    fc.property(fc.array(range), fc.integer({ min: 1, max: 100 }), (ranges, maxEvents) => {
      const all = [...new Set(seqsIn(ranges))].sort((a, b) => a - b);
      const joined = joinRanges(ranges);
      expect(seqsIn(joined)).toEqual(all);
      for (const [place, [from]] of joined.entries()) expect(from).toBeGreaterThan((joined[place - 1]?.[1] ?? -1) + 1);
      expect(seqsIn(joinRanges(ranges, maxEvents))).toEqual(all.slice(-maxEvents));
    }),
  );
});

test('[WHY5] the ranges of single events join neighbours', () => {
  expect(rangesAt([7, 3, 4, 3])).toEqual([
    [3, 4],
    [7, 7],
  ]);
});

test('[WHY5] reading ends once the budget is used up', async () => {
  const store = openMemoryStore();
  await using runtime = await openRuntime({ store });
  const session = await runtime.sessions.open();
  for (const text of ['a', 'b', 'c']) {
    await session.append({ role: 'assistant', content: text.repeat(1_500_000) });
  }
  const [workspace, ranges] = ['local' as WorkspaceId, rangesAt([2, 3, 4])];
  const read = async (bytes: number) =>
    (
      await Array.fromAsync(
        eventsWithin({ store, workspace } as never, { workspace, session: session.id }, ranges, { bytes }),
      )
    ).map(({ seq }) => seq);
  expect(await read(2_000_000)).toEqual([2, 3]);
  expect(await read(10_000_000)).toEqual([2, 3, 4]);
  expect(await read(0)).toEqual([]);
});
