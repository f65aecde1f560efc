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

/** Parses a stored summary. Returns undefined if the text is not a summary. */
export const parseSummary = (stored: unknown): SessionSummary | undefined => {
  try {
    const parsed = JSON.parse(String(stored));
    return isSummary(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
};

interface SummaryRow {
  readonly id: SessionId;
  readonly seq: number;
  readonly at: number;
  readonly status: string;
  readonly updated_at: number;
  readonly summary: unknown;
}

const safe = (value: number): number => Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);

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
