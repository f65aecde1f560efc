import { emptyState } from '../../schema/state.ts';
import type { FoundPlace } from '../engine/places.ts';
import { readForward } from '../engine/read-log.ts';
import { type FilesAccess, keyOf, type LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { StoredEvent } from '../ports/store.ts';
import type { Side } from '../session/diff/side.ts';
import { SideBuilder, saidFor } from '../session/diff/side-builder.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import type { SessionFold } from '../session/fold.ts';
import { type LiveRange, liveWithin } from '../session/live-lineage.ts';
import { diffSteps, type StateDiff } from '../session/state/diff.ts';
import { type FilesBetween, filesBetween } from './file-differences.ts';

/** The newest events of a side that are compared. A side with more says how many it leaves out. */
const maxEvents = 20_000;

const sizeOf = (ranges: readonly LiveRange[]): number => ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);

/** The last `count` seqs of the ranges. */
const lastOf = (ranges: readonly LiveRange[], count: number): readonly LiveRange[] => {
  let left = count;
  return ranges
    .toReversed()
    .flatMap(([from, to]): LiveRange[] => {
      const first = Math.max(from, to - left + 1);
      left -= to - first + 1;
      return first <= to ? [[first, to]] : [];
    })
    .reverse();
};

interface Read {
  readonly builder: SideBuilder;
  readonly unread: number;
}

/** Reads the events of these ranges. Counts the events that cannot be read, because the rest must still be compared. */
const readRanges = async (scope: LogAccess, place: FoundPlace, ranges: readonly LiveRange[]): Promise<Read> => {
  const builder = new SideBuilder();
  let unread = 0;
  const take = (stored: StoredEvent): void => {
    try {
      builder.add(decodeEvent(scope.workspace, stored));
    } catch (error) {
      if (!isSessionDamage(error)) throw error;
      unread += 1;
    }
  };
  for (const [from, to] of ranges) {
    let last = from - 1;
    try {
      const key = keyOf(scope, place.place.session);
      for await (const stored of readForward(scope.store, key, { after: last, upTo: to })) {
        take(stored);
        last = stored.seq;
      }
    } catch (error) {
      if (!isSessionDamage(error)) throw error;
      unread += to - last;
    }
  }
  return { builder, unread };
};

/** Adds what was said for calls that were asked for at or before the common point. */
const addEarlierSaid = async (
  scope: LogAccess,
  { place }: FoundPlace,
  builder: SideBuilder,
  common: SessionFold | undefined,
): Promise<void> => {
  if (!common) return;
  const key = keyOf(scope, place.session);
  for (const callId of new Set(builder.unsaid())) {
    const seq = common.openCalls[callId]?.seq;
    if (seq === undefined) continue;
    const [stored] = await eventLoop.reading(() => scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 }));
    const event = stored && decodeEvent(scope.workspace, stored);
    const said = event?.type === 'message.appended' ? saidFor(callId, event) : undefined;
    if (said) builder.say(callId, said);
  }
};

/** Reads what happened after the seq `after` on the live lineage of a place. */
export const readSide = async (scope: LogAccess, found: FoundPlace, after: number): Promise<Side> => {
  const all = liveWithin(found.fold.live, after, found.place.seq);
  const left = Math.max(0, sizeOf(all) - maxEvents);
  const { builder, unread } = await readRanges(scope, found, left > 0 ? lastOf(all, maxEvents) : all);
  const isContinued = after > 0 && builder.unsaid().length > 0;
  const common = isContinued ? await scope.folds.at(keyOf(scope, found.place.session), after) : undefined;
  await addEarlierSaid(scope, found, builder, common);
  return builder.build(left + unread);
};

/** What came of a place since a common point: what happened, and how state and files differ from that point. */
export interface SideResult extends Side {
  readonly state: StateDiff;
  readonly files: FilesBetween;
}

/** Like `readSide`, with the changes of state and files since the fold at the common point. */
export const resultOf = async (
  scope: LogAccess & FilesAccess,
  found: FoundPlace,
  common: SessionFold | undefined,
): Promise<SideResult> => {
  const side = await readSide(scope, found, common?.seq ?? 0);
  const state = await eventLoop.drain(diffSteps(common?.state ?? emptyState, found.fold.state));
  const files = await filesBetween(scope, [common ?? {}, side], [found.fold, side]);
  return { ...side, state, files };
};
