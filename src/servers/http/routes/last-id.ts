import { PerdureError } from '../../../schema/error.ts';

/** Id of the last frame that a reconnecting reader received, from the header `last-event-id`. */
export const lastId = (headers: Headers): number | undefined => {
  const last = headers.get('last-event-id');
  if (last === null || last === '') return undefined;
  if (/^\d{1,15}$/.test(last)) return Number(last);
  throw new PerdureError('INVALID_INPUT', 'last-event-id is not the id of a frame: leave it out to read from `after`');
};
