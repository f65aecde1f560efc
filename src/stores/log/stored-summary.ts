import type { SessionId } from '../../schema/ids.ts';
import { holders, type Status, statuses } from '../../schema/statuses.ts';
import type { SessionSummary } from '../../schema/summary.ts';

/** What can be done about a summary that someone changed by hand: the log still tells what it was. */
export const summaryAdvice = '`perdure repair --projections` makes it anew from the log';

const isStatus = (value: unknown): value is Status => statuses.includes(value as Status);
const isTextIfAny = (value: unknown): boolean => value === undefined || typeof value === 'string';

/** By hand: the schema would make the thread that reads start three times as slowly. */
export const isSummary = (value: Partial<SessionSummary> | null): value is SessionSummary =>
  typeof value === 'object' &&
  value !== null &&
  typeof value.id === 'string' &&
  isStatus(value.status) &&
  holders.includes(value.holder as SessionSummary['holder']) &&
  [value.seq, value.turn, value.lastTurn, value.messages, value.createdAt, value.updatedAt].every(
    Number.isSafeInteger,
  ) &&
  [value.title, value.parent].every(isTextIfAny);

/** Undefined when it is no summary. */
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
 * For a list: of a session whose summary cannot be read it shows what else is known. Id and time are those of the
 * row, which the next page goes on from, also where somebody made the summary say otherwise.
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
