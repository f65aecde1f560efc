import fc from 'fast-check';
import type { NewEvent } from '../../../core/ports/store.ts';
import type { Status } from '../../../schema/lifecycle.ts';
import { event, message, noise, raw } from '../log/new-events.ts';

/** Sessions and seqs are given as numbers, which the test takes modulo the number that exist by then. */
export type Operation =
  | { readonly kind: 'create' }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'append'; readonly on: number; readonly events: readonly NewEvent[] }
  | { readonly kind: 'decide'; readonly on: number; readonly offHead: number; readonly events: readonly NewEvent[] }
  | {
      readonly kind: 'run';
      readonly on: number;
      readonly offEpoch: number;
      readonly offHead: number | undefined;
      readonly events: readonly NewEvent[];
    }
  | { readonly kind: 'claim'; readonly on: number }
  | { readonly kind: 'keyed'; readonly on: number; readonly key: string; readonly body: string }
  | { readonly kind: 'pause' | 'resume'; readonly on: number; readonly whileStatus: readonly Status[] | undefined }
  | { readonly kind: 'fork'; readonly on: number; readonly at: number }
  | { readonly kind: 'rewind'; readonly on: number; readonly at: number };

const turn = fc.constantFrom('current' as const, 'current' as const, 'next' as const, 0, 1, 2);
const payload = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ maxLength: 60 }) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(40_000), fc.nat(5)).map(([size, seed]) => noise(size, seed)) },
  { weight: 1, arbitrary: fc.nat(20_000).map((size) => new Uint8Array(size)) },
);
const newEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  fc.tuple(payload, turn).map(([bytes, at]) => raw(bytes, at)),
  fc.tuple(fc.string({ maxLength: 20 }), turn).map(([text, at]) => message(text.replaceAll('\0', ' '), at)),
);
const events = fc.array(newEvent, { minLength: 1, maxLength: 4 });
const runEvents = fc.constant([event('run.started', { attempt: 1 })]);
const on = fc.nat();
const off = fc.constantFrom(0, 0, 0, -1, 1);

export const operations: fc.Arbitrary<readonly Operation[]> = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('append' as const), on, events }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('decide' as const), on, offHead: off, events }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('run' as const),
        on,
        offEpoch: off,
        offHead: fc.option(off, { nil: undefined }),
        events: fc.oneof(events, runEvents),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('claim' as const), on }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('keyed' as const),
        on,
        key: fc.constantFrom('a', 'b'),
        body: fc.constantFrom('1', '1', '2'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('pause' as const, 'resume' as const),
        on,
        whileStatus: fc.constantFrom<readonly Status[] | undefined>(undefined, ['open', 'active'], ['paused']),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('fork' as const), on, at: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('rewind' as const), on, at: fc.nat() }) },
  ),
  { maxLength: 30, size: 'max' },
);
