import type { RuntimeStore } from '../../core/ports/runtime-store.ts';
import type { SessionKey } from '../../core/ports/store.ts';
import { newId, WorkspaceId } from '../../schema/ids.ts';
import type { StoreTamper } from '../store-harness.ts';

/** The setup that each part of the contract receives. */
export interface ContractSetup {
  /** Two stores on the same database, open for the whole run. */
  readonly store: RuntimeStore;
  readonly other: RuntimeStore;
  /** Opens another store on the same database, which is closed after the test at the latest. */
  open(): Promise<RuntimeStore>;
  readonly tamper: StoreTamper;
}

const run = newId('run').slice(-8);
let workspaces = 0;

export const newWorkspace = (): WorkspaceId => WorkspaceId.parse(`w-${run}-${++workspaces}`);

export const newKey = (workspace: WorkspaceId = newWorkspace()): SessionKey => ({ workspace, session: newId('ses') });
