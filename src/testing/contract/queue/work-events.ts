import type { Claim, Holder, Presence, Queue, Work } from '../../../core/ports/queue.ts';
import type { NewEvent, SessionKey, Store } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { newKey } from '../contract-setup.ts';
import { opened, rawText } from '../log/new-events.ts';
import { mustAppend } from '../log/session-log.ts';

/** An event that calls for a worker. Its version is unknown, so no store reads its payload. */
export const calling = (text = 'work', type = 'input.admitted'): NewEvent => ({ ...rawText(text), type, version: 99 });

/** Creates sessions of one workspace and enters them in this order. Event 2 of each calls for work. */
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

/** The expected entry of a free session that is bound to no agent. */
export const entryOf = ({ workspace, session }: SessionKey, seq: number): Work => ({
  workspace,
  session,
  seq,
  agent: '',
});

export const holderNamed = (worker: string): Holder => ({
  worker,
  machine: 'here',
  process: 4_294_967_295,
  processStart: '123 456',
});

export const hourMs = 3_600_000;

export const presenceOf = (worker: string, about: Partial<Presence> = {}): Presence => ({
  holder: holderNamed(worker),
  place: 'somewhere',
  agents: [],
  concurrency: 1,
  isDraining: false,
  ...about,
});

/** A claim for all free sessions that are bound to no agent. */
export const claimOf = (worker: string, about: Partial<Claim> = {}): Claim => ({
  holder: holderNamed(worker),
  forMs: hourMs,
  count: 1000,
  agents: [],
  ...about,
});

/** Claims, and returns the sessions in the order in which they were taken. */
export const claimAs = async (
  store: Queue,
  worker: string,
  about: Partial<Claim> = {},
): Promise<readonly SessionId[]> => (await store.claim(claimOf(worker, about))).taken.map(({ session }) => session);

/** Whether the worker holds the session now: by renewing its lease, or else by claiming it. */
export const leaseAs = async (
  store: Queue,
  key: SessionKey,
  worker: string,
  { forMs = hourMs, gone }: { readonly forMs?: number; readonly gone?: string } = {},
): Promise<boolean> => {
  if (await isRenewed(store, key, worker, forMs)) return true;
  const { workspace, session } = key;
  const taken = await claimAs(store, worker, { workspace, sessions: [session], forMs, ...(gone && { gone: [gone] }) });
  return taken.length > 0;
};

export const isRenewed = async (store: Queue, key: SessionKey, worker: string, forMs = hourMs): Promise<boolean> => {
  const { workspace, session } = key;
  return (await store.touch(presenceOf(worker), { held: [{ workspace, session }], forMs })).length > 0;
};

export const foundIn = (store: Queue, workspace: WorkspaceId, limit = 100): Promise<readonly Work[]> =>
  store.findWork(workspace, limit);

export const sessionsIn = async (store: Queue, workspace: WorkspaceId, limit?: number): Promise<readonly SessionId[]> =>
  (await foundIn(store, workspace, limit)).map(({ session }) => session);
