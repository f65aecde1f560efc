import { randomBytes } from 'node:crypto';
import type { Account } from '../../core/ports/ledger.ts';
import { importedBy, withOwnership } from '../../core/ports/ownership.ts';
import type { Head, SessionCopy, StoredEvent, StoredKey } from '../../core/ports/store.ts';
import { accountAfter, atRest, countedFor } from '../../core/session/account.ts';
import { genesisHash, linkProblem } from '../../core/session/events/chain.ts';
import { copiedEventProblem } from '../../core/session/events/copied-event-problem.ts';
import { summarize } from '../../core/session/summary.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { MemberId, WorkspaceId } from '../../schema/ids.ts';

/** The stored facts about a copied session, read in the import's own transaction. */
export interface ImportBase {
  readonly head: Head | undefined;
  /** The hash of the local event at `overlapAt`, if the copy overlaps the local session. */
  readonly overlapHash?: Uint8Array | undefined;
  /** For a fork that this store does not have yet: the parent's head, and the hash of the event at the fork point. */
  readonly parent?: { readonly head: Head; readonly hash: Uint8Array } | undefined;
}

export interface ImportPlan {
  readonly added: readonly StoredEvent[];
  readonly head: Head;
}

/** The last seq that both the copied piece and the local session contain; undefined when they do not overlap. */
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
    `the bundle is damaged at ${seq === undefined ? '' : `event ${seq} of `}${copy.session}: ${why}; export it again from its source`,
    {
      details: { session: copy.session, ...(seq !== undefined && { seq }) },
    },
  );

/**
 * The reason why the piece is not a consecutive series of events of its session; undefined if it is. `planImport`
 * checks how the first event connects to the stored log.
 */
const pieceProblem = (copy: SessionCopy): { readonly seq: number; readonly why: string } | undefined => {
  let previous: StoredEvent | undefined;
  for (const event of copy.events) {
    const why =
      event.session === copy.session ? previous && followProblem(previous, event) : 'it belongs to another session';
    if (why) return { seq: event.seq, why };
    previous = event;
  }
  return undefined;
};

const followProblem = (
  previous: { readonly seq: number; readonly hash: Uint8Array; readonly at?: number },
  event: StoredEvent,
): string | undefined =>
  linkProblem(previous, event) ??
  (event.at < (previous.at ?? 0) ? 'its time is before that of the previous event' : undefined);

/**
 * The summary and the account after the import. The store folds it from the events, because bundles contain no summaries. The
 * `opensTurn` marks, which no hash covers, must agree with it.
 */
const stateAfter = (
  copy: SessionCopy,
  added: readonly StoredEvent[],
  head: Head | undefined,
): Pick<Head, 'summary' | 'account'> => {
  let summary = head?.summary;
  let account: Account | undefined = head?.account;
  for (const event of added) {
    const problem = copiedEventProblem(summary, event);
    if (problem) throw broken(copy, problem, event.seq);
    try {
      // As later reads see it: its members are not those of this store.
      const received = { ...event, imported: true } as const;
      account = accountAfter(account, summary, received);
      summary = summarize(summary, received);
    } catch (error) {
      if (isPerdureError(error, 'EVENT_DAMAGED')) throw broken(copy, error.message, event.seq);
      throw error;
    }
  }
  if (summary?.parent !== copy.parent?.session || summary?.forkedAt !== copy.parent?.seq) {
    throw broken(copy, 'its first event names a different parent');
  }
  return { summary: summary!, account: account && atRest(account) };
};

/** Events of another store must not decide who sees a session of this one, nor for whom it counts. */
const ownedHere = (
  { summary, account }: Pick<Head, 'summary' | 'account'>,
  { head, parent }: ImportBase,
  owner: MemberId | undefined,
): Pick<Head, 'summary' | 'account'> => {
  const ownership = owner ? (head?.summary ?? parent?.head.summary ?? importedBy(owner)) : summary;
  return { summary: withOwnership(summary, ownership), account: countedFor(account, ownership) };
};

/**
 * Decides what the import of a copy adds. A hash covers all earlier events, so copies that agree at one seq agree on
 * all events before it. The import adds only later events. A session that grows by an import gets a new epoch, which
 * fences its local run writers.
 */
export const planImport = (
  workspace: WorkspaceId,
  base: ImportBase,
  copy: SessionCopy,
  owner?: MemberId,
): ImportPlan => {
  const { head } = base;
  const start = head ?? rootOf(base, copy);
  if (head && (head.parent?.session !== copy.parent?.session || head.parent?.seq !== copy.parent?.seq)) {
    throw disagrees(copy, 'they have different fork points');
  }
  const problem = pieceProblem(copy);
  if (problem) throw broken(copy, problem.why, problem.seq);
  const common = overlapAt(copy, head);
  const theirs = copy.events.find(({ seq }) => seq === common);
  if (common !== undefined && !(theirs && base.overlapHash && Buffer.from(theirs.hash).equals(base.overlapHash))) {
    throw disagrees(copy, `event ${common} differs`, common);
  }
  const added = copy.events.filter(({ seq }) => seq > start.seq);
  const [first] = added;
  const last = added.at(-1);
  if (!first || !last) {
    if (!head) throw broken(copy, 'it has no events');
    return { added, head };
  }
  const gap = followProblem(start, first);
  if (gap) throw broken(copy, gap, first.seq);
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
      claim: head ? randomBytes(16).toString('hex') : '',
      ...ownedHere(stateAfter(copy, added, head), base, owner),
      isListed: true,
    },
  };
};

const rootOf = ({ parent }: ImportBase, copy: SessionCopy): { seq: number; hash: Uint8Array } => {
  if (!copy.parent) return { seq: 0, hash: genesisHash };
  if (!parent) throw broken(copy, 'the event at its fork point does not precede it in the bundle');
  return { seq: copy.parent.seq, hash: parent.hash };
};

/**
 * The idempotency keys of a copy that this store does not have yet. The copy is rejected if this store has used one of
 * its keys for another append.
 */
export const newKeysOf = (copy: SessionCopy, keyHere: (key: string) => StoredKey | undefined): readonly StoredKey[] =>
  copy.keys.filter(({ key, bodyHash, seq, count }) => {
    const here = keyHere(key);
    const isSame = here?.bodyHash === bodyHash && here.seq === seq && here.count === count;
    if (here && !isSame) throw disagrees(copy, `the key ${key} has another use here`);
    return !here;
  });
