import type { SessionEvent } from '../../schema/event.ts';
import type { SessionKey } from '../ports/store.ts';
import { decide, type SessionCommand } from '../session/decide.ts';
import type { SessionFold } from '../session/fold.ts';
import { idempotencyKeyFor } from './idempotency.ts';
import type { WriteAccess } from './scope.ts';
import { type SessionWrite, writeDecision } from './session-writer.ts';

export interface ExecuteOptions {
  readonly idempotencyKey?: string | undefined;
  /** What the caller asked for, in its own words: the same key must come with the same. */
  readonly body?: unknown;
  /** Of the run that asks: refused with FENCED once another writer has taken over. */
  readonly epoch?: number | undefined;
}

/** A command, or a function that makes it of the outline that it will be decided on; undefined when there is nothing to do. */
export type CommandSource = SessionCommand | ((outline: SessionFold) => Promise<SessionCommand | undefined>);

/** A result may need the head it was decided on. */
const isFact = (source: CommandSource): boolean =>
  'type' in source && source.type === 'append' && source.messages.every(({ role }) => role !== 'tool');

/** Facts land at any head and wait for nobody; decisions about a session wait for each other. */
export const execute = (
  scope: WriteAccess,
  key: SessionKey,
  source: CommandSource,
  { idempotencyKey, body, epoch }: ExecuteOptions = {},
): Promise<readonly SessionEvent[]> => {
  const { folds, actor, secrets } = scope;
  const write: SessionWrite = {
    read: async (attempt) =>
      attempt === 0 ? { fold: await folds.recentOutline(key), isRecent: true } : { fold: await folds.outline(key) },
    decide: async (fold) => {
      const command = typeof source === 'function' ? await source(fold) : source;
      if (!command) return undefined;
      const decision = decide(fold, command, actor, await secrets.redactor());
      return { ...decision, ...('target' in command && { target: command.target }) };
    },
    epoch,
    // At once: what the caller does with its objects later changes nothing.
    idempotencyKey: idempotencyKey === undefined ? undefined : idempotencyKeyFor(idempotencyKey, actor, body),
  };
  const work = async () => (await writeDecision(scope, key, write)).events;
  return isFact(source) ? work() : folds.inTurn(key, work);
};
