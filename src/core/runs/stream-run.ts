import type { Json } from '../../schema/json.ts';
import type { RunPart } from '../../schema/run-part.ts';
import { newDoorbell } from '../engine/doorbell.ts';
import { readEvents } from '../engine/events.ts';
import { refuseBeyond } from '../engine/points.ts';
import type { FollowAccess, ModelAccess, WorkerAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { AdmittedRun } from './admitted-run.ts';
import { RunParts } from './run-parts.ts';
import { warnWhileUnclaimed } from './unclaimed-run-warning.ts';

export type StreamAccess = WriteAccess & FollowAccess & WorkerAccess & Pick<ModelAccess, 'previews'>;

/**
 * Yields the parts of a run until it ends. It reads the log from the admission on, because only the earlier events
 * show which pieces belong to this run. Parts of events up to `after` are left out. Pieces that arrive while the
 * reader is busy are joined.
 */
export async function* streamRun(
  scope: StreamAccess,
  key: SessionKey,
  { id, admittedAt }: AdmittedRun,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<RunPart<Json>, void, void> {
  if (after >= admittedAt) refuseBeyond(key, after, await scope.folds.outline(key));
  scope.needWorker(key);
  const stopWarning = warnWhileUnclaimed(scope, key, id);
  let isCaughtUp = after < admittedAt;
  const parts = new RunParts(id);
  const bell = newDoorbell(scope.clock);
  const stopListening = scope.previews.listen(key, (preview) => {
    parts.hear(preview);
    bell.ring();
  });
  const events = readEvents(scope, key, { after: admittedAt - 1, follow: true, signal });
  const heard = async () => {
    await bell.rung();
    return 'heard' as const;
  };
  try {
    let step = events.next();
    let hearing = heard();
    for (;;) {
      const next = await Promise.race([step, hearing]);
      if (next === 'heard') {
        hearing = heard();
        if (isCaughtUp) yield* parts.pieces();
        continue;
      }
      if (next.done) return;
      const { seq } = next.value;
      for (const part of parts.event(next.value)) if (seq > after) yield part;
      if (parts.isOver) return;
      step = events.next();
      isCaughtUp ||= seq >= after;
      if (isCaughtUp) yield* parts.pieces();
    }
  } finally {
    stopWarning();
    stopListening();
    bell.ring(); // ends the pending wait
    await events.return();
  }
}
