import type { SessionValue } from '../../core/ports/session-value.ts';
import type { Head } from '../../core/ports/store.ts';
import { isSameValue, valuesOf } from '../../core/session/session-values.ts';
import type { ListingKey, ListingKeys, PlacedHead } from './listing-key.ts';

/** What an append changes among the rows by which listings find its session. */
export interface ListingChange {
  readonly key: ListingKey;
  /** Whether the session may have rows whose values are unknown, which must be deleted first. */
  readonly isNew: boolean;
  /** Whether the remaining rows move to the key. */
  readonly isMoved: boolean;
  readonly dropped: readonly SessionValue[];
  readonly added: readonly SessionValue[];
}

export type ListedHead = Pick<Head, 'workspace' | 'session' | 'summary'>;

const missingIn = (values: readonly SessionValue[], others: readonly SessionValue[]): readonly SessionValue[] =>
  others.filter((each) => !values.some((value) => isSameValue(value, each)));

const isSame = (a: readonly SessionValue[], b: readonly SessionValue[]): boolean =>
  a.length === b.length && a.every((value, place) => isSameValue(value, b[place]!));

/** `before` is the stored head. */
export const listingChange = (keys: ListingKeys, head: ListedHead, before: PlacedHead | undefined): ListingChange => {
  const { workspace, summary } = head;
  const key = keys.next(workspace, summary.updatedAt, before?.listing);
  const values = valuesOf(summary);
  if (!before?.listing) return { key, isNew: true, isMoved: false, dropped: [], added: values };
  const stored = valuesOf(before.summary);
  const kept = { key, isNew: false, isMoved: key !== before.listing };
  if (isSame(stored, values)) return { ...kept, dropped: [], added: [] };
  return { ...kept, dropped: missingIn(values, stored), added: missingIn(stored, values) };
};

export const isUnchanged = ({ isNew, isMoved, dropped, added }: ListingChange): boolean =>
  !isNew && !isMoved && dropped.length === 0 && added.length === 0;
