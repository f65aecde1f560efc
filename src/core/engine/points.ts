import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { type Attempt, Point } from '../../schema/point.ts';
import type { SessionKey, Store } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive, liveAtOrBefore } from '../session/live-lineage.ts';
import type { LogAccess } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

const nameOf = (point: Point): string => {
  if ('seq' in point) return `event ${point.seq}`;
  return 'attempt' in point ? `attempt ${point.attempt} at turn ${point.turn}` : `turn ${point.turn}`;
};

const notFound = (key: Pick<SessionKey, 'session'>, point: Point, why: string): PerdureError =>
  new PerdureError('POINT_NOT_FOUND', `${nameOf(point)} is not a point of ${key.session}: ${why}`, {
    details: { session: key.session, point },
  });

/** Rejects a cursor beyond the head, because a reader can only have received it from another log. */
export const refuseBeyond = (
  key: Pick<SessionKey, 'session'>,
  after: number,
  { seq }: { readonly seq: number },
): void => {
  if (after > seq) throw notFound(key, { seq: after }, `it has ${seq} events, continue after one of them`);
};

/** Rejects a point at or behind the first damaged event of a quarantined session. */
export const refuseLost = (
  key: Pick<SessionKey, 'session'>,
  seq: number,
  damaged: { readonly seq: number } | undefined,
): void => {
  if (!damaged || seq < damaged.seq) return;
  const why = `event ${damaged.seq} is damaged, so the last good event is ${damaged.seq - 1}`;
  throw notFound(key, { seq }, why);
};

/** The first live turns with the number `from` or higher. */
const liveTurns = async (store: Store, key: SessionKey, head: SessionFold, from: number, count: number) => {
  const found: { readonly turn: number; readonly seq: number }[] = [];
  for (let next = from; ; ) {
    const starts = await store.turnStarts(key, { from: next, limit: 64 });
    found.push(...starts.filter(({ seq }) => isLive(head.live, seq)));
    const last = starts.at(-1);
    if (found.length >= count || !last || last.seq > head.seq) return found;
    next = last.turn + 1;
  }
};

export const firstLiveTurn = async (store: Store, key: SessionKey, head: SessionFold, from: number) =>
  (await liveTurns(store, key, head, from, 1))[0];

const endOfTurn = async (store: Store, key: SessionKey, head: SessionFold, turn: number): Promise<number> => {
  if (turn === 0) {
    const first = await firstLiveTurn(store, key, head, 1);
    return first ? liveAtOrBefore(head.live, first.seq - 1) : head.seq;
  }
  const [start, next] = await liveTurns(store, key, head, turn, 2);
  if (start?.turn !== turn) {
    const isKnown = turn <= head.lastTurn;
    const why = isKnown
      ? `a rewind left that turn behind: turn:${turn}#1 names it`
      : `its last turn is ${head.lastTurn}`;
    throw notFound(key, { turn }, why);
  }
  return next ? liveAtOrBefore(head.live, next.seq - 1) : head.seq;
};

/** The turns of all attempts at a turn, in order. A turn that was never retried is its own only attempt. */
export const attemptsAt = ({ attempts, lastTurn }: SessionFold, turn: number): readonly number[] =>
  attempts[turn] ?? (turn <= lastTurn ? [turn] : []);

/** The turn that an attempt is. */
const turnOfAttempt = (key: SessionKey, head: SessionFold, attempt: Attempt): number => {
  const attempts = attemptsAt(head, attempt.turn);
  const turn = attempts[attempt.attempt - 1];
  if (turn === undefined) throw notFound(key, attempt, `attempts so far: ${attempts.length}`);
  return turn;
};

/** The newest fold in which an event was on the live lineage. */
const lastWithEvent = async ({ folds }: LogAccess, key: SessionKey, head: SessionFold, seq: number) => {
  let fold = head;
  while (!isLive(fold.live, seq)) {
    // The range after the gap begins with the event that left the gap behind.
    const [leaving] = fold.live.find(([from]) => from > seq)!;
    fold = (await folds.countedAt(key, leaving - 1)).state;
  }
  return fold;
};

/**
 * Returns the seq of a point, relative to the lineage of `head`. A turn ends just before the next turn of the live
 * lineage. An attempt that was left behind ends where it ended when it was last on the live lineage.
 */
export const resolvePoint = async (
  scope: LogAccess,
  key: SessionKey,
  head: SessionFold,
  input?: Point,
): Promise<number> => {
  if (input === undefined) return head.seq;
  const point = parseInput('the point', Point, input);
  if ('seq' in point) {
    if (point.seq > head.seq) throw notFound(key, point, `it has ${head.seq} events`);
    return point.seq;
  }
  if (!('attempt' in point)) return endOfTurn(scope.store, key, head, point.turn);
  const turn = turnOfAttempt(key, head, point);
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  return endOfTurn(scope.store, key, await lastWithEvent(scope, key, head, start!.seq), turn);
};

/**
 * Returns the end of a turn, or of an attempt, in a log whose newest events cannot be read. A turn that may continue in
 * the unreadable part is rejected with the error of the damaged event.
 */
const endOfReadableTurn = async (
  scope: LogAccess,
  key: SessionKey,
  point: Exclude<Point, { seq: number }>,
  damage: PerdureError,
): Promise<number> => {
  const readable = await scope.folds.lastReadable(key);
  const turn = 'attempt' in point ? attemptsAt(readable, point.turn)[point.attempt - 1] : point.turn;
  if (turn === undefined || turn > readable.lastTurn) throw damage;
  const end = await resolvePoint(scope, key, readable, point);
  const [next] = end < readable.seq ? [] : await scope.store.turnStarts(key, { from: turn + 1, limit: 1 });
  if (end < readable.seq || next?.seq === end + 1) return end;
  throw damage;
};

/** Returns the seq of a point. Reads no event beyond the point, if the point is a seq or the newest events are damaged. */
export const findPoint = async (scope: LogAccess, key: SessionKey, input?: Point): Promise<number> => {
  const { store, folds } = scope;
  const point = input === undefined ? undefined : parseInput('the point', Point, input);
  if (point && 'seq' in point) {
    const head = await store.head(key);
    if (!head) throw sessionNotFound(key);
    if (point.seq > head.seq) throw notFound(key, point, `it has ${head.seq} events`);
    return point.seq;
  }
  try {
    return await resolvePoint(scope, key, await folds.outline(key), point);
  } catch (error) {
    if (!point || !isPerdureError(error, 'EVENT_DAMAGED')) throw error;
    return endOfReadableTurn(scope, key, point, error);
  }
};
