import type { SessionEvent } from '../../schema/event.ts';
import type { Fence, SessionKey } from '../ports/store.ts';
import { decide, type SessionCommand } from '../session/decide.ts';
import type { SessionFold } from '../session/fold.ts';
import { actOfHolder, refuseUnlessHolder } from '../session/holder.ts';
import { isUnsettled } from '../session/runs/settlement.ts';
import type { Attempt } from './conflict-retry.ts';
import { idempotencyKeyFor } from './idempotency.ts';
import type { WriteAccess } from './scope.ts';
import { type SessionWrite, writeDecision } from './session-writer.ts';
import { settleStops } from './settle-stops.ts';

export interface ExecuteOptions {
  readonly idempotencyKey?: string | undefined;
  /** The request as the caller sent it. A repeated idempotency key must have an equal body. */
  readonly body?: unknown;
  /** The fence of the run that writes. The write fails with FENCED once another writer has taken over. */
  readonly fence?: Fence | undefined;
}

/**
 * A command, or a function that creates it from the fold that the command will be decided on. The function returns
 * undefined when there is nothing to do.
 */
export type CommandSource =
  | SessionCommand
  | ((outline: SessionFold, attempt: Attempt) => Promise<SessionCommand | undefined>);

/**
 * Whether the source is a fact. Excludes tool results, because they may have to be appended on the head that they were
 * decided on.
 */
const isFact = (source: CommandSource): boolean =>
  'type' in source && source.type === 'append' && source.messages.every(({ role }) => role !== 'tool');

/**
 * Executes a command. Facts are appended at any head without waiting. Decisions about one session wait for each other.
 */
export const execute = (
  scope: WriteAccess,
  key: SessionKey,
  source: CommandSource,
  { idempotencyKey, body, fence }: ExecuteOptions = {},
): Promise<readonly SessionEvent[]> => {
  const { folds, actor, caller, secrets } = scope;
  const write: SessionWrite = {
    read: async (attempt) => {
      const fold = await (attempt === 0 ? folds.recentOutline(key) : folds.outline(key));
      if (isFact(source) || fence !== undefined || !isUnsettled(fold)) return { fold, isRecent: attempt === 0 };
      // The process that stopped a run died before it could settle the stop, or is still at it.
      await settleStops(scope, key);
      return { fold: await folds.outline(key) };
    },
    decide: async (fold, attempt) => {
      const command = typeof source === 'function' ? await source(fold, attempt) : source;
      if (!command) return undefined;
      const act = fence === undefined ? actOfHolder(command) : undefined;
      if (act) refuseUnlessHolder(fold, caller, act);
      const decision = decide(fold, command, actor, await secrets.redactor());
      return { ...decision, ...('target' in command && { target: command.target }) };
    },
    writer: fence && { kind: 'run', ...fence },
    // Hashed before the first await, so that the caller may change its objects afterwards.
    idempotencyKey: idempotencyKey === undefined ? undefined : idempotencyKeyFor(idempotencyKey, actor, body),
  };
  const work = async () => (await writeDecision(scope, key, write)).events;
  return isFact(source) ? work() : folds.inTurn(key, work);
};
