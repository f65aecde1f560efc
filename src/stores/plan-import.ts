import type { Head, SessionCopy, StoredEvent } from '../core/ports/store.ts';
import { genesisHash, linkProblem } from '../core/session/chain.ts';
import { summarize } from '../core/session/summary.ts';
import { PerdureError } from '../schema/error.ts';
import type { WorkspaceId } from '../schema/ids.ts';

/** What the store holds about a copied session, read in the import's own transaction. */
export interface ImportBase {
  readonly head: Head | undefined;
  /** The hash of the local event with the seq of `overlapAt`, when there is an overlap. */
  readonly overlapHash?: Uint8Array | undefined;
  /** For a child that is not here yet: its parent's head, and the hash of the event it goes on from. */
  readonly parent?: { readonly head: Head; readonly hash: Uint8Array } | undefined;
}

export interface ImportPlan {
  readonly added: readonly StoredEvent[];
  readonly head: Head;
}

/** The last seq that a piece and the session here have in common; undefined when they do not overlap. */
export const overlapAt = (copy: SessionCopy, head: Head | undefined): number | undefined => {
  const first = copy.events[0];
  const last = copy.events.at(-1);
  if (!head || !first || !last || first.seq > head.seq) return undefined;
  return Math.min(last.seq, head.seq);
};

const disagrees = (copy: SessionCopy, why: string, seq?: number): PerdureError =>
  new PerdureError(
    'BUNDLE_CONFLICT',
    `${copy.session} in the bundle and in this store differ: ${why}; import it into another workspace or store`,
    { details: { session: copy.session, ...(seq !== undefined && { seq }) } },
  );

const broken = (copy: SessionCopy, why: string, seq?: number): PerdureError =>
  new PerdureError(
    'BUNDLE_INVALID',
    `the bundle is damaged at ${copy.session}: ${why}; export it again from its source`,
    {
      details: { session: copy.session, ...(seq !== undefined && { seq }) },
    },
  );

/**
 * A hash stands for all before it: two copies that agree at one seq agree up to there, and what one has beyond may be added. A session
 * that grows by an import gets a new epoch, so that no run writer here goes on from the old head.
 */
export const planImport = (workspace: WorkspaceId, base: ImportBase, copy: SessionCopy): ImportPlan => {
  const { head } = base;
  const start = head ?? rootOf(base, copy);
  if (head && (head.parent?.session !== copy.parent?.session || head.parent?.seq !== copy.parent?.seq)) {
    throw disagrees(copy, 'they were forked from different points');
  }
  const common = overlapAt(copy, head);
  const theirs = copy.events.find(({ seq }) => seq === common);
  if (theirs && !(base.overlapHash && Buffer.from(theirs.hash).equals(base.overlapHash))) {
    throw disagrees(copy, `event ${common} is not the same`, common);
  }
  const added = copy.events.filter(({ seq }) => seq > start.seq);
  let previous: { seq: number; hash: Uint8Array } = start;
  for (const event of added) {
    const problem =
      event.session === copy.session ? linkProblem(previous, event) : 'an event belongs to another session';
    if (problem) throw broken(copy, problem, event.seq);
    previous = event;
  }
  const last = added.at(-1);
  if (!last) {
    if (!head) throw broken(copy, 'it has no events');
    return { added, head };
  }
  return {
    added,
    head: {
      workspace,
      session: copy.session,
      parent: copy.parent,
      root: head?.root ?? base.parent?.head.root ?? copy.session,
      seq: last.seq,
      hash: last.hash,
      at: last.at,
      epoch: head ? head.epoch + 1 : 0,
      summary: added.reduce(summarize, head?.summary)!,
    },
  };
};

const rootOf = ({ parent }: ImportBase, copy: SessionCopy): { seq: number; hash: Uint8Array } => {
  if (!copy.parent) return { seq: 0, hash: genesisHash };
  if (!parent) throw broken(copy, 'the event it was forked from is not in the bundle before it');
  return { seq: copy.parent.seq, hash: parent.hash };
};
