import { z } from 'zod';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { ShownHandoff } from '../../schema/handoff.ts';
import { approvalKey } from '../../schema/idempotency-key.ts';
import { ApprovalId, type SessionId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { execute } from '../engine/execute.ts';
import { type CallerAccess, keyOf, type LogAccess, type WorkerAccess, type WriteAccess } from '../engine/scope.ts';
import type { ListQuery, SessionKey } from '../ports/store.ts';
import { settledAlready } from '../session/decide-answer.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import type { ApprovalState } from '../session/runs/run-fold.ts';

/** A call that a person must approve before it runs. */
export interface PendingApproval extends Omit<ApprovalState, 'settled'> {
  readonly session: SessionId;
}

const AnswerOptions = z.strictObject({ comment: Text.max(2000).optional() });
/** What a person says about their answer to an approval. */
export type AnswerOptions = z.input<typeof AnswerOptions>;
/** A session that a person holds. */
export interface HeldSession extends ShownHandoff {
  readonly session: SessionId;
}

export interface Approvals {
  /** The unanswered approvals in all sessions of the workspace. */
  list(): Promise<readonly PendingApproval[]>;
  /** The sessions of the workspace that people hold, with who handed them over, to whom, and why. */
  handoffs(): Promise<readonly HeldSession[]>;
  /** Approves the call. Returns the session that requested the approval, like `deny`. The model receives the comment. */
  approve(id: string, options?: AnswerOptions): Promise<SessionId>;
  /** Denies the call. The model receives the comment. */
  deny(id: string, options?: AnswerOptions): Promise<SessionId>;
}

const pageSize = 200;

/** Yields sessions by time of change, newest first. */
async function* sessionsOf(scope: LogAccess, status?: ListQuery['status']): AsyncGenerator<SessionSummary> {
  for (let after: ListQuery['after']; ; ) {
    const page = await scope.store.list(scope.workspace, { status, limit: pageSize, after });
    yield* page;
    const last = page.at(-1);
    if (page.length < pageSize || !last) return;
    after = { updatedAt: last.updatedAt, id: last.id };
  }
}

/**
 * Returns the approvals of a session. Returns none for a damaged session, which cannot continue, so that the approvals
 * of other sessions are still found.
 */
const approvalsIn = async (scope: LogAccess, session: SessionId): Promise<readonly ApprovalState[]> => {
  try {
    return Object.values((await scope.folds.head(keyOf(scope, session))).approvals);
  } catch (error) {
    if (isSessionDamage(error)) return [];
    throw error;
  }
};

async function* pendingApprovals(scope: LogAccess): AsyncGenerator<PendingApproval> {
  for await (const { id: session, waiting } of sessionsOf(scope, ['active', 'pausing', 'paused'])) {
    // A run can have open approvals while it waits for an answer, or for a person whom its agent handed the session to.
    if (waiting !== 'approval' && waiting !== 'question' && waiting !== 'human') continue;
    for (const { settled, ...approval } of await approvalsIn(scope, session)) {
      if (!settled) yield { session, ...approval };
    }
  }
}

/** Yields the sessions that people hold. Reads summaries alone. */
async function* heldSessions(scope: LogAccess): AsyncGenerator<HeldSession> {
  for await (const { id: session, holder, handoff } of sessionsOf(scope, ['open', 'active', 'pausing', 'paused'])) {
    if (holder === 'human' && handoff) yield { session, ...handoff };
  }
}

const maxSearched = 1000;

/**
 * Finds the session in which the approval was already answered, among the sessions that changed last. This lets a
 * repeated answer succeed.
 */
const answeredIn = async (scope: LogAccess, id: ApprovalId): Promise<SessionId | undefined> => {
  let searched = 0;
  for await (const { id: session } of sessionsOf(scope)) {
    if ((await scope.store.keys(keyOf(scope, session), approvalKey(id))).length > 0) return session;
    if (++searched === maxSearched) return undefined;
  }
  return undefined;
};

const sessionOf = async (scope: LogAccess, id: ApprovalId): Promise<SessionId> => {
  for await (const approval of pendingApprovals(scope)) if (approval.id === id) return approval.session;
  const answered = await answeredIn(scope, id);
  if (answered) return answered;
  throw new PerdureError(
    'APPROVAL_NOT_FOUND',
    `${id} is not waiting for an answer: \`perdure approvals\` lists those that are`,
    {
      details: { approval: id },
    },
  );
};

type AnswerAccess = WriteAccess & CallerAccess & WorkerAccess;

export const approvalsOf = (scope: AnswerAccess): Approvals => {
  const settle = async (id: string, answer: Answer, options?: AnswerOptions): Promise<SessionId> => {
    const approval = parseInput('the approval', ApprovalId, id);
    const session = await sessionOf(scope, approval);
    await answerApproval(scope, keyOf(scope, session), approval, answer, options);
    return session;
  };
  return {
    list: () => Array.fromAsync(pendingApprovals(scope)),
    handoffs: () => Array.fromAsync(heldSessions(scope)),
    approve: (id, options) => settle(id, 'approved', options),
    deny: (id, options) => settle(id, 'denied', options),
  };
};

type Answer = 'approved' | 'denied';

/**
 * Answers an approval. An answer is final, and is stored under an idempotency key of the session. Repeating the same
 * answer succeeds, whatever happened to the call since.
 */
export const answerApproval = async (
  scope: AnswerAccess,
  key: SessionKey,
  id: string,
  answer: Answer,
  options: AnswerOptions = {},
): Promise<void> => {
  const approval = parseInput('the approval', ApprovalId, id);
  const { comment } = parseInput('the answer', AnswerOptions, options);
  const command = {
    type: 'answer',
    approval,
    answer,
    comment,
    role: scope.requester.role,
    now: scope.clock.now(),
  } as const;
  try {
    await execute(scope, key, command, { idempotencyKey: approvalKey(approval), body: { answer } });
  } catch (error) {
    throw isPerdureError(error, 'KEY_REUSED') ? settledAlready(approval, 'was answered differently') : error;
  }
  scope.needWorker(key);
};
