import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type {
  Appended,
  AppendOutcome,
  AppendRequest,
  Fence,
  FencedWriter,
  Head,
  IdempotencyKey,
  SessionKey,
  Writer,
} from '../ports/store.ts';
import type { Decision } from '../session/decision.ts';
import type { SessionFold } from '../session/fold.ts';
import { allowedWhileDamaged, statusesThatAllow } from '../session/lifecycle.ts';
import { appendDrafts, onTopOf } from './append-drafts.ts';
import { appendRefusal } from './append-refusal.ts';
import { type Attempt, type AttemptResult, retryConflicts } from './conflict-retry.ts';
import { earlierAnswer, earlierEvents } from './idempotency.ts';
import type { LogAccess, WriteAccess } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

/** A decision to append. Without a `command`, the append is accepted in any status of the session. */
export interface WriteDecision extends Omit<Decision, 'command'>, Partial<Pick<Decision, 'command'>> {
  /** Conditions on the head at which the append lands, beside those of `command`. */
  readonly onlyWhile?: Pick<AppendRequest, 'whileStatus' | 'whileHeldBy'> | undefined;
  /** The fold that a rewind goes back to. */
  readonly target?: SessionFold | undefined;
}

export interface FoldReading {
  readonly fold: SessionFold;
  /** The fence of the head that the fold was read at. */
  readonly fence?: Fence | undefined;
  /**
   * Whether the fold may be older than the store. A rejection, or a decision to write nothing, is then repeated on the
   * newest fold.
   */
  readonly isRecent?: boolean | undefined;
}

export interface SessionWrite {
  /** Reads the fold to decide on. The first attempt may use any fold, later attempts need the newest. */
  readonly read: (attempt: number) => Promise<FoldReading>;
  /**
   * Decides what to append. Returns undefined, or no drafts, if there is nothing to write. Called once for each
   * attempt.
   */
  readonly decide: (
    fold: SessionFold,
    attempt: Attempt,
  ) => WriteDecision | undefined | Promise<WriteDecision | undefined>;
  /** The run that writes. Without it, this is an outside writer. A decision that takes over claims the session instead. */
  readonly writer?: FencedWriter | undefined;
  readonly idempotencyKey?: IdempotencyKey | undefined;
}

export interface WriteResult {
  /**
   * The written events. For a repeated idempotency key, the events of the first request. Empty if there was nothing to
   * write.
   */
  readonly events: readonly SessionEvent[];
  /** Undefined when nothing was appended. */
  readonly appended?: Appended | undefined;
}

export const fenceOf = ({ epoch, claim }: Fence): Fence => ({ epoch, claim });

/** Reads the newest fold and its fence, with one read of the head. `known` is a head that was just read. */
export const readHead = async ({ store, folds }: LogAccess, key: SessionKey, known?: Head): Promise<FoldReading> => {
  const head = known ?? (await store.head(key));
  if (!head) throw sessionNotFound(key);
  return { fold: await folds.atHead(head), fence: fenceOf(head) };
};

const writerFor = async (
  { store }: LogAccess,
  key: SessionKey,
  { takesOver }: WriteDecision,
  held: FencedWriter | undefined,
  read: Fence | undefined,
): Promise<Writer> => {
  if (held) return held;
  if (!takesOver) return { kind: 'outside' };
  const current = read ?? (await store.head(key));
  if (!current) throw sessionNotFound(key);
  return { kind: 'run', ...fenceOf(current) };
};

/**
 * Whether another attempt may succeed. A rejection because of the status is final if the decision was made on that
 * same status.
 */
const mayLandLater = (outcome: AppendOutcome, { status }: SessionFold, isClaim: boolean): boolean => {
  if (outcome.outcome === 'status') return outcome.status !== status;
  return outcome.outcome === 'conflict' || outcome.outcome === 'held' || (outcome.outcome === 'fenced' && isClaim);
};

const appendDecision = async (
  scope: WriteAccess,
  key: SessionKey,
  { idempotencyKey, writer: held }: SessionWrite,
  { fold, fence }: FoldReading,
  decision: WriteDecision,
): Promise<AttemptResult<WriteResult>> => {
  const { drafts, command, onlyWhile, fact, raisesEpoch, takesOver, target } = decision;
  const written = await appendDrafts(scope, key, drafts, {
    writer: await writerFor(scope, key, decision, held, fence),
    ...(command && { whileStatus: statusesThatAllow(command), whileDamaged: allowedWhileDamaged.has(command) }),
    ...onlyWhile,
    ...(!fact && onTopOf(fold)),
    ...(raisesEpoch && { raisesEpoch }),
    ...(idempotencyKey && { key: idempotencyKey }),
  });
  if ('events' in written) {
    scope.folds.advance(key, fold, written, target);
    return { done: { events: written.events, appended: written.outcome } };
  }
  const { outcome } = written;
  if (outcome.outcome === 'duplicate') return { done: { events: await earlierEvents(scope.store, key, outcome) } };
  scope.folds.forget(key);
  if (outcome.outcome === 'fenced' || outcome.outcome === 'missing') scope.folds.suspect(key);
  const conflict = appendRefusal(key, outcome, command);
  if (!mayLandLater(outcome, fold, takesOver === true && held === undefined)) throw conflict;
  return { conflict };
};

/**
 * Writes to a session. All writers use this function. It decides on a fold, appends on the head of that fold or as a
 * fact, and retries while other writers conflict.
 */
export const writeDecision = (scope: WriteAccess, key: SessionKey, write: SessionWrite): Promise<WriteResult> =>
  retryConflicts(scope, key, async (attempt) => {
    const reading = await write.read(attempt.attempt);
    let decision: WriteDecision | undefined;
    let rejection: PerdureError | undefined;
    try {
      decision = await write.decide(reading.fold, attempt);
    } catch (error) {
      if (!(error instanceof PerdureError)) throw error;
      rejection = error;
    }
    if (decision?.drafts.length) return appendDecision(scope, key, write, reading, decision);
    if (reading.isRecent) return { conflict: rejection };
    const events = await earlierAnswer(scope.store, key, write.idempotencyKey);
    if (!events && rejection) throw rejection;
    return { done: { events: events ?? [] } };
  });
