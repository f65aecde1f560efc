import { isDeepStrictEqual } from 'node:util';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { readForward } from '../engine/read-log.ts';
import { encodeFold, readableFold, targetOf } from '../engine/session-folds.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { FoldSnapshot, SessionKey, Store, StoredEvent } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { fold, foldVersion, type SessionFold } from '../session/fold.ts';

export interface BadEvent {
  readonly seq: number;
  readonly reason: string;
  /** The path in the tree, if a blob that the event names is missing or damaged. */
  readonly path?: string;
  readonly blob?: string;
}

/** Decodes an event. Returns undefined for redacted events and for events of later releases. */
export const legible = (workspace: WorkspaceId, stored: StoredEvent): SessionEvent | undefined => {
  try {
    return decodeEvent(workspace, stored);
  } catch (error) {
    if (stored.body.kind === 'redacted' || isPerdureError(error, 'EVENT_UNSUPPORTED')) return undefined;
    throw error;
  }
};

const snapshotSeqs = async (store: Store, key: SessionKey, upTo: number): Promise<ReadonlySet<number>> => {
  const seqs = new Set<number>();
  for (let seq = upTo; ; ) {
    const found = await eventLoop.reading(() => store.snapshot(key, { seq, foldVersion }));
    const due = eventLoop.slice();
    if (due) await due;
    if (!found) return seqs;
    seqs.add(found.seq);
    seq = found.seq - 1;
  }
};

const hasSameBytes = ({ parts: a }: FoldSnapshot, { parts: b }: FoldSnapshot): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([name, bytes]) => Object.hasOwn(b, name) && Buffer.compare(bytes, b[name]!) === 0);

/** Compares a snapshot with the fold of the log. Decodes both only if their bytes differ, because that takes longer. */
const agrees = async (store: Store, key: SessionKey, state: SessionFold): Promise<boolean> => {
  const snapshot = await eventLoop.reading(() => store.snapshot(key, { seq: state.seq, foldVersion }));
  if (snapshot?.seq !== state.seq) return true;
  const folded = await encodeFold(state);
  if (hasSameBytes(snapshot, folded)) return true;
  const kept = await readableFold(snapshot);
  return kept === undefined || isDeepStrictEqual(kept, await readableFold(folded));
};

interface Folding {
  readonly upTo: number;
  /** The events that rewinds and quarantines go back to. */
  readonly points: ReadonlySet<number>;
  /** Skips the snapshots. */
  readonly onlyLog?: boolean;
  /** Called with the seq of each event that was folded. */
  readonly onFolded?: ((seq: number) => void) | undefined;
}

/**
 * Folds the log from its first event without snapshots. Reports the first snapshot that differs, or the first commit
 * that cannot be applied. Stops at a redacted event, because there is no fold after it.
 */
export const foldProblem = async (
  store: Store,
  key: SessionKey,
  { upTo, points, onlyLog = false, onFolded }: Folding,
): Promise<BadEvent | undefined> => {
  const snapshots = onlyLog ? new Set<number>() : await snapshotSeqs(store, key, upTo);
  const targets = new Map<number, SessionFold>();
  let state: SessionFold | undefined;
  for await (const stored of readForward(store, key, { after: 0, upTo })) {
    const event = legible(key.workspace, stored);
    if (!event) return state?.damage;
    const target = targetOf(event);
    state = fold(state, event, target === undefined ? undefined : targets.get(target));
    onFolded?.(event.seq);
    if (points.has(event.seq)) targets.set(event.seq, state);
    if (snapshots.has(event.seq) && !(await agrees(store, key, state))) {
      const reason = 'its snapshot differs from the log: `perdure repair --projections` removes it';
      return { seq: event.seq, reason };
    }
  }
  return state?.damage;
};
