import type { Account } from '../../core/ports/ledger.ts';
import type { Head } from '../../core/ports/store.ts';
import type { SessionId } from '../../schema/ids.ts';
import { holders, type Status, statuses } from '../../schema/statuses.ts';
import type { SessionSummary } from '../../schema/summary.ts';

/** Advice for an unreadable summary: the log still contains everything it is folded from. */
export const summaryAdvice = 'run `perdure repair --projections` to rebuild it from the log';

const isStatus = (value: unknown): value is Status => statuses.includes(value as Status);
const isTextIfAny = (value: unknown): boolean => value === undefined || typeof value === 'string';

/** Checked by hand, because loading the schema library makes the reader thread start three times as slowly. */
export const isSummary = (value: Partial<SessionSummary> | null): value is SessionSummary =>
  typeof value === 'object' &&
  value !== null &&
  typeof value.id === 'string' &&
  isStatus(value.status) &&
  holders.includes(value.holder as SessionSummary['holder']) &&
  [value.seq, value.turn, value.lastTurn, value.messages, value.createdAt, value.updatedAt].every(
    Number.isSafeInteger,
  ) &&
  [value.title, value.parent, value.firstWords].every(isTextIfAny);

/** The text in which a store keeps a summary, with the account of the session. */
export const summaryText = ({ summary, account }: Pick<Head, 'summary' | 'account'>): string =>
  JSON.stringify(account ? { ...summary, account } : summary);

/** Parses a stored summary and account. Returns undefined if the text is not a summary. */
export const parseState = (stored: unknown): Pick<Head, 'summary' | 'account'> | undefined => {
  try {
    const { account, ...summary } = JSON.parse(String(stored)) as SessionSummary & { account?: Account };
    return isSummary(summary)
      ? { summary, account: Number.isSafeInteger(account?.bytes) ? account : undefined }
      : undefined;
  } catch {
    return undefined;
  }
};

/** Parses a stored summary. Returns undefined if the text is not a summary. */
export const parseSummary = (stored: unknown): SessionSummary | undefined => parseState(stored)?.summary;

interface SummaryRow {
  readonly id: SessionId;
  readonly seq: number;
  readonly at: number;
  readonly status: string;
  readonly updated_at: number;
  readonly summary: unknown;
}

export const safe = (value: number): number =>
  Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);

/**
 * The summary for a listing. If the stored summary is unreadable, it shows the facts that the row has. Id and time
 * always come from the row, because paging relies on them.
 */
export const listedSummary = (row: SummaryRow): SessionSummary => ({
  ...(parseSummary(row.summary) ?? {
    title: `(unreadable: ${summaryAdvice})`,
    status: isStatus(row.status) ? row.status : 'closed',
    holder: 'agent',
    seq: safe(row.seq),
    turn: 0,
    lastTurn: 0,
    messages: 0,
    createdAt: safe(row.at),
  }),
  id: row.id,
  updatedAt: safe(row.updated_at),
});
