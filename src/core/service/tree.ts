import type { SessionId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { SessionKey } from '../ports/store.ts';
import type { Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

/** A session of a family and the forks made from it, oldest first. */
export interface TreeNode {
  readonly summary: SessionSummary;
  readonly forks: readonly TreeNode[];
}

/** The whole family that the session belongs to, from its root. */
export const readTree = async (scope: Scope, key: SessionKey): Promise<TreeNode> => {
  const family = await scope.store.family(key);
  const root = family.find(({ parent }) => parent === undefined);
  if (!root) throw sessionNotFound(key);
  const children = Map.groupBy(family, ({ parent }) => parent?.session);
  const nodes = new Map<SessionId, TreeNode>();
  // A child is made after its parent, so from the newest back every node's children are ready before it.
  for (const { session, summary } of family.toReversed()) {
    nodes.set(session, { summary, forks: (children.get(session) ?? []).map((child) => nodes.get(child.session)!) });
  }
  return nodes.get(root.session)!;
};
