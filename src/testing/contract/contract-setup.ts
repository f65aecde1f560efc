import type { Queue } from '../../core/ports/queue.ts';
import type { SessionKey, Store } from '../../core/ports/store.ts';
import { newId, WorkspaceId } from '../../schema/ids.ts';
import type { StoreTamper } from '../store-harness.ts';

/** What the parts of the contract are given. */
export interface ContractSetup {
  /** Two on the same database, open for the whole run. */
  readonly store: Store & Queue;
  readonly other: Store & Queue;
  /** A new one on the same database, closed after the test at the latest. */
  open(): Promise<Store & Queue>;
  readonly tamper: StoreTamper;
}

const run = newId('run').slice(-8);
let workspaces = 0;

export const newWorkspace = (): WorkspaceId => WorkspaceId.parse(`w-${run}-${++workspaces}`);

export const newKey = (workspace: WorkspaceId = newWorkspace()): SessionKey => ({ workspace, session: newId('ses') });
