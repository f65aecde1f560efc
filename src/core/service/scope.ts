import type { Actor, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { SessionKey, Store } from '../ports/store.ts';
import type { Agent } from '../session/agent.ts';
import type { SessionFolds } from './session-folds.ts';

/** One member of one workspace at work: what every use case is given. */
export interface Scope {
  readonly store: Store;
  readonly clock: Clock;
  readonly folds: SessionFolds;
  /** The agents that this runtime holds. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly workspace: WorkspaceId;
  readonly actor: Actor;
  /** Aborted when the runtime closes, so that followers end. */
  readonly closing: AbortSignal;
}

export const keyOf = (scope: Scope, session: SessionId): SessionKey => ({ workspace: scope.workspace, session });
