/**
 * A process that waits for a session to work on, executes its run, and kills itself at the planned moment. Argument:
 * the place as JSON.
 */
import '../support/end-with-parent.ts';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '../../src/schema/ids.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { fill, fillingAgent, openFilling } from './filling-agent.ts';

export interface FilesPlace {
  readonly address: string;
  /** The folder that holds the worktrees. */
  readonly data: string;
}

/**
 * Kills the process `afterMs` after the nth time it uploads blobs (`put`), writes new content aside (`aside`) or
 * renames it into place (`place`).
 */
export interface Death {
  readonly at: 'put' | 'aside' | 'place';
  readonly nth: number;
  readonly afterMs: number;
}

export interface FilesWork {
  readonly session: SessionId;
  /** The version that the call `fill` writes into the worktree. */
  readonly version: string;
  /** Without a death the process finishes the run. */
  readonly death?: Death;
}

const { address, data } = JSON.parse(process.argv[2]!) as FilesPlace;
let work: FilesWork | undefined;

let met = 0;
const meet = (at: Death['at']): void => {
  const death = work?.death;
  if (death?.at === at && ++met === death.nth) setTimeout(() => process.kill(process.pid, 'SIGKILL'), death.afterMs);
};

const store = await openStoreAt(address);
const dying = overrideStore(store, {
  putBlobs: (...blobs) => {
    meet('put');
    return store.putBlobs(...blobs);
  },
});
const agent = fillingAgent((folder) => fill(folder, work!.version));
const runtime = await openFilling(dying, data, agent);
process.send!('ready');
[work] = (await once(process, 'message')) as [FilesWork];
const { session, death } = work;
if (death && death.at !== 'put') {
  watch(join(data, 'worktrees', 'local', session, 'files'), (_, name) => meet(name === '.perdure' ? 'aside' : 'place'));
}
await runtime.worker({ session }).runUntilIdle();
await runtime.close();
process.exit();
