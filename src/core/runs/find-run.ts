import { idTime, RunId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { readBackward } from '../engine/read-log.ts';
import type { Scope } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent, parseInput } from '../session/events/event-codec.ts';
import { runNotFound } from './run-not-found.ts';
import { type Run, runHandle } from './runs.ts';

/** Clocks are set back at times. */
const slackMs = 86_400_000;

/** An id is made before the event that admits its run, and no event is older than those before it: further back it cannot be. */
export const findRun = async (scope: Scope, key: SessionKey, wanted: string): Promise<Run<Json>> => {
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
