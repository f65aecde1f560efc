import { PerdureError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { SessionKey } from '../ports/store.ts';

/** `that` is what the run would have to be, where one of this id is not enough. */
export const runNotFound = ({ session }: SessionKey, run: RunId, that = ''): PerdureError =>
  new PerdureError(
    'RUN_NOT_FOUND',
    `${session} has no run ${run}${that}: \`perdure log ${session}\` tells which there are`,
    { details: { session, run } },
  );
