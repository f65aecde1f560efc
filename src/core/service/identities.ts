import { z } from 'zod';
import { MemberId, memberActor, WorkspaceId } from '../../schema/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { type Agent, agentRegistry } from '../session/agent.ts';
import { parseInput } from '../session/event-codec.ts';
import { defaultSnapshotPolicy, SessionFolds, type SnapshotPolicy } from './session-folds.ts';
import { type Sessions, sessionsOf } from './sessions.ts';

const Identity = z.strictObject({ workspace: WorkspaceId, member: MemberId });

export interface IdentityOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly snapshots?: SnapshotPolicy | undefined;
  readonly onWarning: (problem: unknown) => void;
  readonly closing: AbortSignal;
  readonly agents?: readonly Agent[] | undefined;
}

export interface Identities {
  /** The sessions as a member of a workspace sees them. */
  sessionsFor(identity: { readonly workspace: string; readonly member: string }): Sessions;
  /** Waits for what is being written beside the calls. */
  settle(): Promise<void>;
}

/** All members of all workspaces share one store and the folds of the sessions in use. */
export const identitiesOn = (options: IdentityOptions): Identities => {
  const { store, clock, snapshots = defaultSnapshotPolicy, onWarning, closing } = options;
  const agents = agentRegistry(options.agents ?? []);
  const folds = new SessionFolds(store, snapshots, onWarning);
  return {
    sessionsFor: (identity) => {
      const { workspace, member } = parseInput('the identity', Identity, identity);
      return sessionsOf({ store, clock, folds, agents, workspace, actor: memberActor(member), closing });
    },
    settle: () => folds.settle(),
  };
};
