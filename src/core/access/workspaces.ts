import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { registryWorkspace, WorkspaceId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { WorkspaceView } from '../../schema/views/registry.ts';
import { allRecords, writeOf } from '../engine/change-records.ts';
import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';

export type Workspace = z.infer<typeof WorkspaceView>;

export interface Workspaces {
  /** Adds a workspace, once. */
  add(id: string): Promise<Workspace>;
  /** All of them, by id. `local` is there from the beginning. */
  list(): Promise<readonly Workspace[]>;
  /** One by its id; fails with WORKSPACE_NOT_FOUND when there is none. */
  get(id: string): Promise<Workspace>;
  /** Those where a dispatcher has something to do, or had, by id. */
  withWebhooks(): Promise<readonly WorkspaceId[]>;
}

const local: Workspace = { id: WorkspaceId.parse('local'), addedAt: 0 };

/** Before a workspace gets a webhook, so that none is overlooked; it stays when the last one is removed. */
export const markHooked = async (records: Records, workspace: WorkspaceId): Promise<void> => {
  await records.writeRecords(registryWorkspace, [writeOf('hooked', { id: workspace }, 0)]);
};

export const workspacesOf = (records: Records, clock: Clock): Workspaces => ({
  add: async (input) => {
    const id = parseInput('the workspace', WorkspaceId, input);
    const workspace: Workspace = { id, addedAt: clock.now() };
    const write = writeOf('workspace', workspace, 0);
    if (id !== local.id && (await records.writeRecords(registryWorkspace, [write]))) return workspace;
    throw new PerdureError('CONFLICT', `there is a workspace ${id} already`, { details: { workspace: id } });
  },
  list: async () => {
    const added = (await allRecords(records, registryWorkspace, 'workspace')).map(({ body }) =>
      WorkspaceView.parse(body),
    );
    return [...added, local].sort((a, b) => (a.id < b.id ? -1 : 1));
  },
  get: async (input) => {
    const id = parseInput('the workspace', WorkspaceId, input);
    if (id === local.id) return local;
    const found = await records.record(registryWorkspace, 'workspace', id);
    if (found) return WorkspaceView.parse(found.body);
    throw new PerdureError(
      'WORKSPACE_NOT_FOUND',
      `there is no workspace ${id}: add it with \`perdure workspaces add ${id}\``,
      {
        details: { workspace: id },
      },
    );
  },
  withWebhooks: async () =>
    (await allRecords(records, registryWorkspace, 'hooked')).map(({ id }) => WorkspaceId.parse(id)),
});
