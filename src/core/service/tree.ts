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
  const nodes = new Map(family.map(({ session, summary }) => [session, { summary, forks: [] as TreeNode[] }]));
  for (const { session, parent } of family) if (parent) nodes.get(parent.session)?.forks.push(nodes.get(session)!);
  return nodes.get(root.session)!;
};
