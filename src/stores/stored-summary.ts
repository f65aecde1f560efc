import type { SessionId } from '../schema/ids.ts';
import { Status } from '../schema/lifecycle.ts';
import { SessionSummary } from '../schema/summary.ts';

/** What can be done about a summary that someone changed by hand: the log still tells what it was. */
export const summaryAdvice = '`perdure repair --projections` makes it anew from the log';

/** Undefined when it is no summary. */
export const parseSummary = (stored: unknown): SessionSummary | undefined => {
  try {
    const parsed = SessionSummary.safeParse(JSON.parse(String(stored)));
    return parsed.success ? parsed.data : undefined;
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

/** For a list, which leaves nobody out: of a session whose summary cannot be read it shows what else is known. */
export const listedSummary = (row: SummaryRow): SessionSummary =>
  parseSummary(row.summary) ?? {
    id: row.id,
    title: `(unreadable: ${summaryAdvice})`,
    status: Status.catch('closed').parse(row.status),
    holder: 'agent',
    seq: row.seq,
    turn: 0,
    lastTurn: 0,
    messages: 0,
    createdAt: row.at,
    updatedAt: row.updated_at,
  };
