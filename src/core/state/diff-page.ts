import { parseInput } from '../../schema/parse-input.ts';
import { Place } from '../../schema/place.ts';
import { maxPageBytes, maxPageItems, partsOfCursor } from '../engine/page.ts';
import type { DiffPlace, PlaceRef } from '../engine/places.ts';
import { eventLoop } from '../ports/event-loop.ts';

interface Start {
  readonly a: DiffPlace;
  readonly b: DiffPlace;
  readonly offset: number;
}

/** The same session as in a place, at this seq. */
const atSeq = (place: DiffPlace, seq: number): DiffPlace => {
  const parsed = parseInput('the point', Place, place);
  return 'session' in parsed ? { session: parsed.session, seq } : { seq };
};

/** Where a page begins. A later page compares the same events, even if the sessions went on. */
export const placesOf = (cursor: string | undefined, a: DiffPlace, b: DiffPlace): Start => {
  if (cursor === undefined) return { a, b, offset: 0 };
  const [from, to, offset] = partsOfCursor(cursor, /^([1-9]\d{0,14})\.([1-9]\d{0,14})\.(\d{1,9})$/).map(Number);
  return { a: atSeq(a, from!), b: atSeq(b, to!), offset: offset! };
};

export const cursorAt = (from: PlaceRef, to: PlaceRef, offset: number): string => `${from.seq}.${to.seq}.${offset}`;

type Lists = Readonly<Record<string, readonly unknown[]>>;

/** The same part of each list: up to `limit` items of each, and together at most the bytes of a page. */
export const pageOf = async <L extends Lists>(
  lists: L,
  offset: number,
  limit: number = maxPageItems,
): Promise<L & { readonly end: number; readonly isMore: boolean }> => {
  const longest = Math.max(...Object.values(lists).map(({ length }) => length));
  let bytes = 0;
  let end = offset;
  for (; end < longest && end < offset + limit; end++) {
    for (const list of Object.values(lists)) {
      if (end < list.length) bytes += Buffer.byteLength(JSON.stringify(list[end]));
    }
    if (end > offset && bytes > maxPageBytes) break;
    await eventLoop.slice();
  }
  const parts = Object.entries(lists).map(([name, list]) => [name, list.slice(offset, end)]);
  return { ...(Object.fromEntries(parts) as L), end, isMore: end < longest };
};
