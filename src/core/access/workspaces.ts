import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { registryWorkspace, WorkspaceId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { Quota, QuotaLimits } from '../../schema/quota.ts';
import { WorkspaceView } from '../../schema/views/registry.ts';
import { allRecords, writeOf } from '../engine/change-records.ts';
import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';

export type Workspace = z.infer<typeof WorkspaceView>;

export interface Workspaces {
  /** Adds a workspace. Returns the existing one, unchanged, if there is one with this id. */
  add(id: string): Promise<Workspace>;
  /** All workspaces, sorted by id. `local` always exists. */
  list(): Promise<readonly Workspace[]>;
  /** A workspace by its id. Fails with WORKSPACE_NOT_FOUND if it does not exist. */
  get(id: string): Promise<Workspace>;
  /**
   * Sets the quota of a workspace as a whole, or removes it. Only the program itself can, so that no admin of a
   * workspace raises what its operator allows.
   */
  setQuota(id: string, limits: QuotaLimits | undefined): Promise<Quota | undefined>;
  /** How many streams a server may open for the workspace, and for one of its members. */
  streamLimits(id: string, member: string): Promise<StreamLimits>;
  /** The ids of workspaces that have, or once had, webhooks, sorted. */
  withWebhooks(): Promise<readonly WorkspaceId[]>;
}

export interface StreamLimits {
  readonly workspace?: number | undefined;
  readonly member?: number | undefined;
}

const local: Workspace = { id: WorkspaceId.parse('local'), addedAt: 0 };

/** Marks a workspace before it gets its first webhook, so that dispatchers never miss it. The mark is never removed. */
export const markHooked = async (records: Records, workspace: WorkspaceId): Promise<void> => {
  await records.writeRecords(registryWorkspace, [writeOf('hooked', { id: workspace }, 0)]);
};

export const workspacesOf = (records: Records, clock: Clock): Omit<Workspaces, 'setQuota' | 'streamLimits'> => {
  const find = async (id: WorkspaceId): Promise<Workspace> => {
    if (id === local.id) return local;
    const found = await records.record(registryWorkspace, 'workspace', id);
    if (found) return WorkspaceView.parse(found.body);
    throw new PerdureError(
      'WORKSPACE_NOT_FOUND',
      `there is no workspace ${id}: add it with \`perdure workspaces add ${id}\``,
      { details: { workspace: id } },
    );
  };
  return {
    add: async (input) => {
      const id = parseInput('the workspace', WorkspaceId, input);
      const workspace: Workspace = { id, addedAt: clock.now() };
      const write = writeOf('workspace', workspace, 0);
      if (id !== local.id && (await records.writeRecords(registryWorkspace, [write]))) return workspace;
      return find(id);
    },
    list: async () => {
      const added = (await allRecords(records, registryWorkspace, 'workspace')).map(({ body }) =>
        WorkspaceView.parse(body),
      );
      return [...added, local].sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    get: async (input) => find(parseInput('the workspace', WorkspaceId, input)),
    withWebhooks: async () =>
      (await allRecords(records, registryWorkspace, 'hooked')).map(({ id }) => WorkspaceId.parse(id)),
  };
};
