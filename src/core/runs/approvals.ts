import { z } from 'zod';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { ShownHandoff } from '../../schema/handoff.ts';
import { approvalKey } from '../../schema/idempotency-key.ts';
import { type Actor, ApprovalId, memberActor, type SessionId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { execute } from '../engine/execute.ts';
import { earlierCallText, shownRepeat } from '../engine/repeated-call.ts';
import {
  type CallerAccess,
  keyOf,
  type LogAccess,
  type SightAccess,
  type WorkerAccess,
  type WriteAccess,
} from '../engine/scope.ts';
import type { ListQuery, SessionKey, Store } from '../ports/store.ts';
import type { SessionCommand } from '../session/decide.ts';
import { askersOf, settledAlready } from '../session/decide-answer.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import type { SessionFold } from '../session/fold.ts';
import { hasRecentImport } from '../session/runs/contributors.ts';
import type { ApprovalState } from '../session/runs/run-fold.ts';

/** A call that a person must approve before it runs. */
export interface PendingApproval extends Omit<ApprovalState, 'settled' | 'seq'> {
  readonly session: SessionId;
}

const AnswerOptions = z.strictObject({ comment: Text.max(2000).optional() });
/** What a person says about their answer to an approval. */
export type AnswerOptions = z.input<typeof AnswerOptions>;
const ApproveOptions = AnswerOptions.extend({
  /**
   * Whether the tool may also run later in this session without an approval, while the taint comes from the sources
   * that the approval names. A new source is asked about again.
   */
  forSource: z.boolean().optional(),
});
/** What a person says about the approval of a call. */
export type ApproveOptions = z.input<typeof ApproveOptions>;
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
  approve(id: string, options?: ApproveOptions): Promise<SessionId>;
  /** Denies the call. The model receives the comment. */
  deny(id: string, options?: AnswerOptions): Promise<SessionId>;
}

const pageSize = 200;

const listIn =
  ({ store }: LogAccess): Store['list'] =>
  (...asked) =>
    store.list(...asked);

/** Yields sessions by time of change, newest first. */
async function* sessionsOf(
  { workspace }: LogAccess,
  list: Store['list'],
  query: Pick<ListQuery, 'status' | 'where'> = {},
): AsyncGenerator<SessionSummary> {
  for (let after: ListQuery['after']; ; ) {
    const { sessions, next } = await list(workspace, { ...query, limit: pageSize, after });
    yield* sessions;
    if (!next) return;
    after = next;
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
    // A private session of another member, if the caller sees none by its role.
    if (isSessionDamage(error) || isPerdureError(error, 'SESSION_NOT_FOUND')) return [];
    throw error;
  }
};

/** The approval without the place of an earlier call in a session that the caller does not see. */
const withShownRepeat = async <Approval extends Pick<ApprovalState, 'repeats' | 'summary'>>(
  scope: LogAccess & SightAccess,
  approval: Approval,
): Promise<Approval> => {
  const { repeats, summary } = approval;
  if (!repeats) return approval;
  const shown = await shownRepeat(scope, repeats);
  return {
    ...approval,
    repeats: shown,
    summary: summary.replace(earlierCallText(repeats), () => earlierCallText(shown)),
  };
};

async function* pendingApprovals(scope: LogAccess & SightAccess): AsyncGenerator<PendingApproval> {
  // A run can have open approvals while it waits for an answer, or for a person whom its agent handed the session to.
  const waiting = ['approval', 'question', 'human'].map((value) => ({ name: 'waiting', value }));
  for await (const { id: session } of sessionsOf(scope, scope.listByRole, {
    status: ['active', 'pausing', 'paused'],
    where: [waiting],
  })) {
    for (const { settled, seq: _, ...approval } of await approvalsIn(scope, session)) {
      if (!settled) yield { session, ...(await withShownRepeat(scope, approval)) };
    }
  }
}

/** Yields the sessions that people hold. Reads summaries alone. */
async function* heldSessions(scope: LogAccess): AsyncGenerator<HeldSession> {
  const status = ['open', 'active', 'pausing', 'paused'] as const;
  const where = [[{ name: 'holder', value: 'human' }]];
  for await (const { id: session, handoff } of sessionsOf(scope, listIn(scope), { status, where })) {
    if (handoff) yield { session, ...handoff };
  }
}

const maxSearched = 1000;

/**
 * Finds the session in which the approval was already answered, among the sessions that changed last. This lets a
 * repeated answer succeed.
 */
const answeredIn = async (scope: LogAccess, id: ApprovalId): Promise<SessionId | undefined> => {
  let searched = 0;
  for await (const { id: session } of sessionsOf(scope, listIn(scope))) {
    if ((await scope.store.keys(keyOf(scope, session), approvalKey(id))).length > 0) return session;
    if (++searched === maxSearched) return undefined;
  }
  return undefined;
};

const sessionOf = async (scope: LogAccess & SightAccess, id: ApprovalId): Promise<SessionId> => {
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

type AnswerAccess = WriteAccess & CallerAccess & WorkerAccess & SightAccess;

export const approvalsOf = (scope: AnswerAccess): Approvals => {
  const settle = async (id: string, answer: Answer, options?: ApproveOptions): Promise<SessionId> => {
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

type RelativesAccess = Pick<LogAccess, 'workspace'> & Pick<SightAccess, 'whole'>;

/**
 * Returns the fold of another session, or undefined if a bundle left the session out. A caller who does not see the
 * session may have contributed to it, with another key or before it became private.
 */
const foldOf = async (scope: RelativesAccess, session: SessionId): Promise<SessionFold | undefined> => {
  try {
    return await scope.whole.folds.head(keyOf(scope, session));
  } catch (error) {
    if (isPerdureError(error, 'SESSION_NOT_FOUND')) return undefined;
    throw error;
  }
};

const askersBelow = async (scope: RelativesAccess, { children }: SessionFold): Promise<readonly Actor[]> => {
  const folds = await Promise.all(Object.values(children).map(({ session }) => foldOf(scope, session)));
  const below = folds.map(async (fold) => (fold ? [...askersOf(fold), ...(await askersBelow(scope, fold))] : []));
  return (await Promise.all(below)).flat();
};

const askersAbove = async (scope: RelativesAccess, { calledBy }: SessionFold): Promise<readonly Actor[]> => {
  const caller = calledBy && (await foldOf(scope, calledBy.session));
  return caller ? [...askersOf(caller), ...(await askersAbove(scope, caller))] : [];
};

/** An imported session belongs to its importer, who has brought the words of the bundle. */
const importerOf = async (
  scope: Pick<LogAccess, 'store'>,
  key: SessionKey,
  { contributors }: SessionFold,
): Promise<readonly Actor[]> => {
  const owner = hasRecentImport(contributors) ? (await scope.store.head(key))?.summary.owner : undefined;
  return owner ? [memberActor(owner)] : [];
};

/** The members who asked for what the callers and the live subagents of a session do. */
const askersAround = async (scope: RelativesAccess, fold: SessionFold): Promise<readonly Actor[]> => [
  ...(await askersAbove(scope, fold)),
  ...(await askersBelow(scope, fold)),
];

/**
 * Answers an approval. An answer is final, and is stored under an idempotency key of the session. Repeating the same
 * answer succeeds, whatever happened to the call since.
 */
export const answerApproval = async (
  scope: AnswerAccess,
  key: SessionKey,
  id: string,
  answer: Answer,
  options: ApproveOptions = {},
): Promise<void> => {
  const approval = parseInput('the approval', ApprovalId, id);
  const given: ApproveOptions = parseInput(
    'the answer',
    answer === 'approved' ? ApproveOptions : AnswerOptions,
    options,
  );
  const { comment } = given;
  const forSource = given.forSource ? (true as const) : undefined;
  const { role } = scope.requester;
  const command = async (fold: SessionFold): Promise<SessionCommand> => {
    const relatives = fold.approvals[approval]?.notRequester
      ? [...(await askersAround(scope, fold)), ...(await importerOf(scope, key, fold))]
      : [];
    return { type: 'answer', approval, answer, comment, forSource, role, relatives, now: scope.clock.now() };
  };
  try {
    await execute(scope, key, command, { idempotencyKey: approvalKey(approval), body: { answer, forSource } });
  } catch (error) {
    throw isPerdureError(error, 'KEY_REUSED') ? settledAlready(approval, 'was answered differently') : error;
  }
  scope.needWorker(key);
};
