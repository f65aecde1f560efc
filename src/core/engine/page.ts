import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';

/** A page of records or messages has at most this many, which is also the default. */
export const maxPageItems = 1000;
/** A page ends before the item that would make it larger. A larger item has a page of its own. */
export const maxPageBytes = 4 * 1024 * 1024;

/** The fields of a query that name its page. */
export const pageFields = {
  limit: z.int().min(1).max(maxPageItems).optional(),
  cursor: z.string().optional(),
};

export const wrongCursor = (): PerdureError =>
  new PerdureError('INVALID_INPUT', 'the cursor does not come from this listing: leave it out to start over');

/** Returns the groups of a cursor's form. Fails if the cursor has another form. */
export const partsOfCursor = (cursor: string, form: RegExp): readonly string[] => {
  const [, ...found] = form.exec(cursor) ?? [];
  if (found.length === 0) throw wrongCursor();
  return found;
};

/** Takes items until the page is full by count or by bytes of JSON. `isMore` says whether an item was left. */
export const fillPage = async <T>(
  found: AsyncIterable<T> | Iterable<T>,
  limit: number,
): Promise<{ readonly items: readonly T[]; readonly isMore: boolean }> => {
  const items: T[] = [];
  let bytes = 0;
  for await (const each of found) {
    if (items.length >= limit) return { items, isMore: true };
    bytes += Buffer.byteLength(JSON.stringify(each));
    if (items.length > 0 && bytes > maxPageBytes) return { items, isMore: true };
    items.push(each);
  }
  return { items, isMore: false };
};
