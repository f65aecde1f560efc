import type { CommitRecord } from '../core/session/state/commit-record.ts';
import { patchBetween } from '../core/session/state/patch-between.ts';
import type { Change, CommitOptions } from '../core/state/commit.ts';
import { isPerdureError, PerdureError } from '../schema/error.ts';
import type { PatchOperation, ShownState, State } from '../schema/state.ts';
import type { Transport } from './transport.ts';

type Mutation = Extract<Change, (...args: never[]) => unknown>;

const maxTries = 20;

const patchBy = (state: State, mutation: Mutation): readonly PatchOperation[] => {
  const draft = structuredClone(state) as Parameters<Mutation>[0];
  const returned = mutation(draft);
  if (returned instanceof Promise) {
    returned.catch(() => undefined);
    throw new PerdureError('INVALID_INPUT', 'a commit function must be synchronous: await first, then commit');
  }
  return patchBetween(state, draft) as readonly PatchOperation[];
};

const send = async (
  transport: Transport,
  session: string,
  patch: readonly PatchOperation[],
  { onState, ...options }: CommitOptions,
): Promise<CommitRecord | undefined> => {
  if (patch.length === 0) return undefined;
  const { commit } = await transport.json<{ readonly commit?: CommitRecord }>(`${session}/state`, {
    method: 'PATCH',
    body: { ...options, patch },
    ...(onState !== undefined && { headers: { 'if-match': `"${onState}"` } }),
  });
  return commit;
};

/**
 * Commits to a session on a server. A patch is sent unchanged. A function is applied to the current state, and the
 * resulting patch is sent; if the state has changed in the meantime, the function runs again.
 */
export const commitAfar = async (
  transport: Transport,
  session: string,
  change: Change,
  options: CommitOptions = {},
): Promise<CommitRecord | undefined> => {
  if (typeof change !== 'function') return send(transport, session, change, options);
  for (let tries = 1; ; tries++) {
    const { value, tag } = await transport.tagged<ShownState>(`${session}/state`);
    const { waiting: _, ...state } = value;
    const patch = patchBy(state, change);
    try {
      return await send(transport, session, patch, {
        ...options,
        onState: options.onState ?? tag?.replaceAll('"', ''),
      });
    } catch (error) {
      const hasMoved = isPerdureError(error, 'PRECONDITION_FAILED') && options.onState === undefined;
      if (!hasMoved || tries === maxTries) throw error;
    }
  }
};
