import type { FamilyMember, Head } from '../../core/ports/store.ts';
import { sessionDamaged } from '../../core/session/events/session-damaged.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { isCount } from '../is-count.ts';
import { covers, type PlacedHead, parseListing } from './listing-key.ts';
import { listedSummary, parseState, summaryAdvice } from './stored-summary.ts';

/** The columns of a session's head. */
export interface HeadRow {
  readonly id: SessionId;
  readonly parent: SessionId | null;
  readonly forked_at: number | null;
  readonly root: SessionId;
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly at: number;
  readonly epoch: number;
  readonly claim: string;
  readonly summary: string;
  readonly status: string;
  readonly updated_at: number;
  /** The place in the index of listings, as `level:span`. */
  readonly listed: string | null;
}

const isSeq = (value: unknown): boolean => isCount(value) && value > 0;

const wrongNumber = ({ seq, at, epoch, parent, forked_at }: HeadRow): string | undefined => {
  if (!isSeq(seq)) return `seq is ${seq}`;
  if (!isCount(at)) return `at is ${at}`;
  if (!isCount(epoch)) return `epoch is ${epoch}`;
  return parent === null || isSeq(forked_at) ? undefined : `forked_at is ${forked_at}`;
};

const numberAdvice = `${summaryAdvice}; if that fails, restore it from an export or a backup`;

export const headOf = (workspace: WorkspaceId, row: HeadRow): PlacedHead => {
  const state = parseState(row.summary);
  if (!state) throw sessionDamaged(row.id, `the summary of ${row.id} cannot be read`, summaryAdvice);
  const { summary, account } = state;
  const wrong = wrongNumber(row);
  if (wrong) throw sessionDamaged(row.id, `the row of ${row.id} is corrupt (${wrong})`, numberAdvice);
  const listing = parseListing(row.listed);
  const isListed =
    row.status === summary.status && row.updated_at === summary.updatedAt && covers(listing, summary.updatedAt);
  return {
    workspace,
    session: row.id,
    parent: parentOf(row),
    root: row.root,
    seq: row.seq,
    hash: row.hash,
    at: row.at,
    epoch: row.epoch,
    claim: row.claim,
    summary,
    account,
    isListed,
    ...(isListed && { listing }),
  };
};

type MemberRow = Omit<HeadRow, 'root' | 'hash' | 'epoch' | 'claim' | 'listed'>;

const parentOf = ({ parent, forked_at }: MemberRow): Head['parent'] =>
  parent === null ? undefined : { session: parent, seq: forked_at ?? 0 };

/**
 * The session as a member of its family. A damaged session is included with the facts that are still readable, as in a
 * listing.
 */
export const memberOf = (row: MemberRow): FamilyMember => ({
  session: row.id,
  parent: parentOf(row),
  summary: listedSummary(row),
});
