import { idTime, RunId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { readBackward } from '../engine/read-log.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { runNotFound } from './run-not-found.ts';
import { type Run, type RunHandleAccess, runHandle } from './runs.ts';

/** The tolerance for clocks that were set back. */
const slackMs = 86_400_000;

/**
 * Finds a run by reading the log backward. A run id is created before the event that admits the run, so the search
 * ends at events older than the id.
 */
export const findRun = async (scope: RunHandleAccess, key: SessionKey, wanted: string): Promise<Run<Json>> => {
  const id = parseInput('the run', RunId, wanted);
  const { seq } = await scope.folds.outline(key);
  for await (const stored of readBackward(scope.store, key, { from: 1, to: seq })) {
    if (stored.at < idTime(id) - slackMs) break;
    if (stored.type !== 'input.admitted') continue;
    const event = decodeEvent(key.workspace, stored);
    if (event.type === 'input.admitted' && event.payload.run === id)
      return runHandle(scope, key, { id, admittedAt: event.seq });
  }
  throw runNotFound(key, id);
};
