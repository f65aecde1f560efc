import type { CallRecord, StoredEvent } from '../../core/ports/store.ts';
import { type CallChange, type CommitPath, type Projection, project } from '../../core/session/projections.ts';
import { isPerdureError } from '../../schema/error.ts';
import { clipPath } from './path-range.ts';

const clipPaths = (paths: readonly CommitPath[]): readonly CommitPath[] => {
  const clipped = paths.map((each) => ({ ...each, path: clipPath(each.path) }));
  return [...new Map(clipped.map((each) => [each.path, each])).values()];
};

const nothing: Projection = { paths: [] };

/**
 * The rows by which queries find the event. An unreadable event has none, so that it cannot block an append, an
 * import or a rebuild.
 */
export const projectionOf = (event: StoredEvent): Projection => {
  try {
    const projection = project(event);
    return projection.paths.length > 0 ? { ...projection, paths: clipPaths(projection.paths) } : projection;
  } catch (error) {
    if (isPerdureError(error, 'EVENT_DAMAGED') || isPerdureError(error, 'EVENT_UNSUPPORTED')) return nothing;
    throw error;
  }
};

export const madeCall = (
  { session, run, turn, seq, at, actor }: StoredEvent,
  { kind: _, ...called }: Extract<CallChange, { kind: 'called' }>,
): CallRecord => ({ session, status: 'running', run, turn, seq, at, actor, ...called });

export const reportedCall = (
  { session, turn, seq, at, actor }: StoredEvent,
  { callId, tool, inputHash, outcome: status, outputHash }: Extract<CallChange, { kind: 'reported' }>,
): CallRecord => ({
  session,
  callId,
  tool,
  status,
  turn,
  seq,
  at,
  actor,
  endedSeq: seq,
  inputHash,
  ...(outputHash !== undefined && { outputHash }),
});

export const settledCall = (
  call: CallRecord,
  { seq: endedSeq }: StoredEvent,
  { outcome: status, durationMs, outputHash, source }: Extract<CallChange, { kind: 'ended' }>,
): CallRecord => ({
  ...call,
  status,
  endedSeq,
  durationMs,
  ...(outputHash !== undefined && { outputHash }),
  ...(source && { source }),
});
