import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { Head } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';

/** The place of a session in the index of listings: its last change lies in the span with this number. */
export interface ListingKey {
  readonly level: number;
  readonly span: number;
}

/** A head with its place, which only the store itself needs. */
export interface PlacedHead extends Head {
  /** Absent if the rows by which listings find the session are missing or wrong. */
  readonly listing?: ListingKey | undefined;
}

export const withoutPlace = ({ listing: _, ...head }: PlacedHead): Head => head;

/**
 * The widths of the spans of each level, in milliseconds. Within a wide span, appends leave the index alone, but a
 * listing sorts the sessions of the span. The last level is exact: it needs no sorting, but every append moves the
 * session.
 */
export const spanWidths = [600_000, 10_000, 1] as const;
export const exactLevel = spanWidths.length - 1;

/** How many sessions of a workspace one process puts into a span. Further sessions get a narrower span. */
export const maxInSpan = 200;

const maxSpans = 10_000;

export const spanOf = (level: number, updatedAt: number): number => Math.floor(updatedAt / spanWidths[level]!);

export const covers = (key: ListingKey | undefined, updatedAt: number): key is ListingKey =>
  key !== undefined && key.level in spanWidths && spanOf(key.level, updatedAt) === key.span;

/** Parses the column that head queries read: `level:span`. */
export const parseListing = (text: string | null): ListingKey | undefined => {
  const [level, span] = (text ?? '').split(':').map(Number);
  return text === null || span === undefined ? undefined : { level: level!, span };
};

/**
 * Chooses the places of sessions. A few busy sessions share wide spans, so that their appends are cheap. Among many, a
 * listing must not sort them all, so the rest get exact places.
 */
export class ListingKeys {
  readonly #counts = new BoundedMap<string, number>(maxSpans);

  /** Returns the current place if it still covers the time of the change. */
  next(workspace: WorkspaceId, updatedAt: number, current: ListingKey | undefined): ListingKey {
    if (covers(current, updatedAt)) return current;
    for (let level = 0; level < exactLevel; level++) {
      const span = spanOf(level, updatedAt);
      const name = `${workspace}/${level}/${span}`;
      const count = this.#counts.get(name) ?? 0;
      if (count >= maxInSpan) continue;
      this.#counts.set(name, count + 1);
      return { level, span };
    }
    return { level: exactLevel, span: updatedAt };
  }
}
