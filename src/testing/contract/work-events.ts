import type { Holder, Queue, Work } from '../../core/ports/queue.ts';
import type { NewEvent, SessionKey, Store } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { newKey } from './contract-setup.ts';
import { opened, rawText } from './new-events.ts';
import { mustAppend } from './session-log.ts';

/** An event that a worker has to look at, of a version to come: its payload is not read. */
export const calling = (text = 'work', type = 'input.admitted'): NewEvent => ({ ...rawText(text), type, version: 99 });

/** Sessions of one workspace, made and entered in this order; each calls with its event 2. */
export const enterSessions = async (
  store: Store,
  workspace: WorkspaceId,
  count: number,
): Promise<readonly SessionKey[]> => {
  const keys = Array.from({ length: count }, () => newKey(workspace));
  for (const key of keys) await mustAppend(store, key, [opened(), calling()], { creates: {} });
  return keys;
};

export const enterSession = async (store: Store): Promise<SessionKey> => {
  const key = newKey();
  await mustAppend(store, key, [opened(), calling()], { creates: {} });
  return key;
};

export const holderNamed = (worker: string): Holder => ({
  worker,
  machine: 'here',
  process: 4_294_967_295,
  processStart: '123 456',
});

export const minuteMs = 60_000;

export const leaseAs = (
  store: Queue,
  key: SessionKey,
  worker: string,
  { forMs = minuteMs, from }: { readonly forMs?: number; readonly from?: string } = {},
): Promise<boolean> =>
  store.lease(key, { holder: holderNamed(worker), forMs, ...(from && { from: holderNamed(from) }) });

export const foundIn = (store: Queue, workspace: WorkspaceId, limit = 100): Promise<readonly Work[]> =>
  store.findWork(workspace, limit);

export const sessionsIn = async (store: Queue, workspace: WorkspaceId, limit?: number): Promise<readonly SessionId[]> =>
  (await foundIn(store, workspace, limit)).map(({ session }) => session);
