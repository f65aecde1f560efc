import type { Authenticated } from '../../core/access/authenticate.ts';
import { quotaError } from '../../core/session/quota-refusal.ts';
import type { Runtime } from '../../runtime.ts';
import { WorkspaceId } from '../../schema/ids.ts';
import { Holdings } from './holdings.ts';

export interface StreamQuotas {
  /**
   * Counts a stream or a wait until the returned function is called. Fails with QUOTA_EXCEEDED when the workspace or
   * the member has too many at this process.
   */
  open(found: Authenticated): Promise<() => void>;
}

/** Counts the open streams of workspaces and members against their quotas. Quotas are read when a stream opens. */
export const streamQuotas = ({ workspaces }: Pick<Runtime, 'workspaces'>): StreamQuotas => {
  const open = new Holdings();
  return {
    open: async ({ identity: { workspace, member } }) => {
      const limits = await workspaces.streamLimits(workspace, member);
      const names = { workspace, member: `${workspace}/${member}` };
      for (const whose of ['workspace', 'member'] as const) {
        const { [whose]: limit = Number.POSITIVE_INFINITY } = limits;
        const used = open.by(names[whose]);
        if (used < limit) continue;
        const of = whose === 'member' ? { member } : {};
        throw quotaError(WorkspaceId.parse(workspace), {
          kind: 'exceeded',
          quota: 'streams',
          ...of,
          used,
          asked: 1,
          limit,
        });
      }
      for (const name of Object.values(names)) open.add(name, 1);
      return () => {
        for (const name of Object.values(names)) open.add(name, -1);
      };
    },
  };
};
