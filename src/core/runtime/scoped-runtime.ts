import type { Json } from '../../schema/json.ts';
import type { UsageReport } from '../../schema/views/usage.ts';
import type { Audit } from '../access/audit.ts';
import type { OnceRequest } from '../access/idempotent-requests.ts';
import type { Keys } from '../access/keys.ts';
import type { Members } from '../access/members.ts';
import type { Quotas } from '../access/quotas.ts';
import type { ChangesOptions, SessionChange } from '../engine/changes.ts';
import type { Collected, GcOptions } from '../maintenance/gc.ts';
import type { Approvals } from '../runs/approvals.ts';
import type { WorkerInfo } from '../runs/list-workers.ts';
import type { WorkerOptions } from '../runs/worker-options.ts';
import type { UsageQuery } from '../runs/workspace-usage.ts';
import type { Vault } from '../vault/vault.ts';
import type { Dispatcher, DispatcherOptions } from '../webhooks/dispatcher.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { Worker } from '../worker/worker.ts';
import type { Agents } from './agents.ts';
import type { Sessions } from './sessions.ts';

export interface RuntimeVerbs {
  /**
   * Removes the workspace's blobs that no log names, and worktrees on this machine that archived sessions do not need.
   * Other processes may keep writing at the same time.
   */
  gc(options?: GcOptions): Promise<Collected>;
  /**
   * Yields each session of the workspace that changes, with its head. Each change is reported at least once. The
   * iteration ends when the signal aborts, the loop ends or the runtime closes.
   */
  changes(options?: ChangesOptions): AsyncGenerator<SessionChange, void, void>;
  /**
   * Calls `work` once for each idempotency key of this member. Repeating the request within a day returns the first
   * answer.
   */
  once<Answer extends Json>(request: OnceRequest, work: () => Promise<Answer>): Promise<Answer>;
  /** Fails with FORBIDDEN if the caller may not use this verb. The rejection of a privileged verb is audited. */
  check(verb: string): Promise<void>;
  /** The workers that serve the workspace, with the sessions that each worker holds. */
  workers(): Promise<readonly WorkerInfo[]>;
  /**
   * The model usage of the workspace by run, session, agent, model, member, workspace, day or month. A total counts each
   * model call once.
   */
  usage(query?: UsageQuery): Promise<UsageReport>;
  /** Creates a worker, which executes runs in this process. */
  worker(options?: WorkerOptions): Worker;
  /** Creates a dispatcher, which sends to the webhooks of the workspace from this process. */
  dispatcher(options?: DispatcherOptions): Dispatcher;
}

/** The runtime as one member of one workspace uses it. */
export interface ScopedRuntime extends RuntimeVerbs {
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly approvals: Approvals;
  readonly members: Members;
  readonly quotas: Quotas;
  readonly keys: Keys;
  readonly audit: Audit;
  readonly vault: Vault;
  readonly webhooks: Webhooks;
}
