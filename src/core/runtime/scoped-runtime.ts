import type { Json } from '../../schema/json.ts';
import type { Audit } from '../access/audit.ts';
import type { OnceRequest } from '../access/idempotent-requests.ts';
import type { Keys } from '../access/keys.ts';
import type { Members } from '../access/members.ts';
import type { ChangesOptions, SessionChange } from '../engine/changes.ts';
import type { Collected, GcOptions } from '../maintenance/gc.ts';
import type { Approvals } from '../runs/approvals.ts';
import type { WorkerInfo } from '../runs/list-workers.ts';
import type { WorkerOptions } from '../runs/worker-options.ts';
import type { Vault } from '../vault/vault.ts';
import type { Dispatcher, DispatcherOptions } from '../webhooks/dispatcher.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { Worker } from '../worker/worker.ts';
import type { Agents } from './agents.ts';
import type { Sessions } from './sessions.ts';

export interface RuntimeVerbs {
  /** Removes the blobs of the workspace that no log names, and the worktrees here that archived sessions do not need. Beside it everybody may be at work. */
  gc(options?: GcOptions): Promise<Collected>;
  /** The sessions of the workspace that change, each with its head: at least once, until the signal, the loop or the runtime ends it. */
  changes(options?: ChangesOptions): AsyncGenerator<SessionChange, void, void>;
  /** Does something once under a key of this member, and gives the first answer to who asks again within a day. */
  once<Answer extends Json>(request: OnceRequest, work: () => Promise<Answer>): Promise<Answer>;
  /** Fails with FORBIDDEN when the caller may not do this; of what is privileged, that is written down. */
  check(verb: string): Promise<void>;
  /** Those that work for the workspace, with what each has in hand. */
  workers(): Promise<readonly WorkerInfo[]>;
  /** Works on runs in this process. */
  worker(options?: WorkerOptions): Worker;
  /** Sends to the webhooks of the workspace, from this process. */
  dispatcher(options?: DispatcherOptions): Dispatcher;
}

/** The runtime as one member of one workspace sees it. */
export interface ScopedRuntime extends RuntimeVerbs {
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly approvals: Approvals;
  readonly members: Members;
  readonly keys: Keys;
  readonly audit: Audit;
  readonly vault: Vault;
  readonly webhooks: Webhooks;
}
