import { PerdureError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { SessionKey } from '../ports/store.ts';

/** The error for a run that was not found. `that` adds a condition that the run must meet, such as being queued. */
export const runNotFound = ({ session }: SessionKey, run: RunId, that = ''): PerdureError =>
  new PerdureError(
    'RUN_NOT_FOUND',
    `${session} has no run ${run}${that}: \`perdure log ${session}\` lists all of its runs`,
    { details: { session, run } },
  );
