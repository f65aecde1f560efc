import type { FamilyMember } from '../../core/ports/store.ts';

const byAge = (a: FamilyMember, b: FamilyMember): number =>
  a.summary.createdAt - b.summary.createdAt || (a.session < b.session ? -1 : 1);

/**
 * Sorts a family oldest first, but each parent before its forks. The clock that timed a fork may be behind the
 * parent's.
 */
export const inFamilyOrder = (heads: readonly FamilyMember[]): readonly FamilyMember[] => {
  const left = new Map(heads.map((head) => [head.session, head]));
  return heads.toSorted(byAge).flatMap((head) => {
    const line: FamilyMember[] = [];
    for (let at = left.get(head.session); at; at = at.parent && left.get(at.parent.session)) {
      left.delete(at.session);
      line.push(at);
    }
    return line.reverse();
  });
};
