import { PerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { LogAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { FamilyMember, SessionKey } from '../ports/store.ts';
import { ownAncestor, sessionDamaged } from '../session/events/session-damaged.ts';

/** A session of a family and the forks made from it, oldest first. */
export interface TreeNode {
  readonly summary: SessionSummary;
  readonly forks: readonly TreeNode[];
}

/** Returns the oldest ancestor. Throws if there is none, which only a manual change of the store can cause. */
const rootOf = (family: ReadonlyMap<SessionId, FamilyMember>, session: SessionId): SessionId => {
  const line = new Set<SessionId>();
  for (let at = session; ; ) {
    if (line.has(at)) throw ownAncestor(session);
    line.add(at);
    const parent = family.get(at)?.parent?.session;
    if (!parent) return at;
    if (!family.has(parent))
      throw sessionDamaged(at, `${at} names ${parent} as its parent, which is not in its family`);
    at = parent;
  }
};

/** The maximum depth of a tree that can still be displayed, and be written as JSON with the same nesting. */
const maxLevels = 1000;

const refuseTooDeep = (root: TreeNode, session: SessionId): void => {
  let [level, depth]: [readonly TreeNode[], number] = [[root], 0];
  for (; level.length > 0; depth++) level = level.flatMap(({ forks }) => forks);
  if (depth <= maxLevels) return;
  throw new PerdureError(
    'PAYLOAD_TOO_LARGE',
    `the family of ${session} has ${depth} levels of forks, but a tree can have at most ${maxLevels}: list the sessions instead, each names its parent`,
    { details: { session, levels: depth, maxLevels } },
  );
};

/** The whole family that the session belongs to, from its root. */
export const readTree = async (scope: LogAccess, key: SessionKey): Promise<TreeNode> => {
  const family = new Map((await scope.store.family(key)).map((member) => [member.session, member]));
  if (!family.has(key.session)) throw sessionNotFound(key);
  const root = rootOf(family, key.session);
  const nodes = new Map(family.values().map(({ session, summary }) => [session, { summary, forks: [] as TreeNode[] }]));
  for (const { session, parent } of family.values())
    if (parent) nodes.get(parent.session)?.forks.push(nodes.get(session)!);
  const tree = nodes.get(root)!;
  refuseTooDeep(tree, key.session);
  return tree;
};
