import type { LedgerKey, LedgerRow, Meter } from '../../core/ports/ledger.ts';
import type { Appended, AppendRequest, Head, StoredEvent } from '../../core/ports/store.ts';
import { memberOf, microsOf } from '../../core/session/account.ts';
import { projectionOf } from './projected-rows.ts';

/**
 * Bytes are counted in steps, so that few appends change the row that all sessions of a workspace share. Each session
 * counts for at least one step, so that many small sessions cannot escape the count.
 */
export const byteStep = 64 * 1024;

/** The day and the month of a time, in UTC. */
export const periodsOf = (at: number): readonly [day: string, month: string] => {
  const date = new Date(at).toISOString();
  return [date.slice(0, 10), date.slice(0, 7)];
};

export const ledgerKeyName = ({ member, meter, period }: LedgerKey): string => `${member}\n${meter}\n${period}`;

/** Sums of changes, by row. */
export class LedgerChanges {
  readonly #rows = new Map<string, LedgerRow>();

  /** Adds to the row of the workspace and to that of the member, if there is one. */
  add(member: string | undefined, meter: Meter, period: string, used: number, reserved = 0): void {
    for (const whose of member ? ['', member] : ['']) this.addRow({ member: whose, meter, period, used, reserved });
  }

  addRow(row: LedgerRow): void {
    const name = ledgerKeyName(row);
    const { used, reserved } = this.#rows.get(name) ?? { used: 0, reserved: 0 };
    this.#rows.set(name, { ...row, used: used + row.used, reserved: reserved + row.reserved });
  }

  /** Adds tokens and USD to the day and the month of a time. */
  addUsage(member: string | undefined, at: number, { tokens, micros }: { tokens: number; micros: number }): void {
    for (const period of periodsOf(at)) {
      this.add(member, 'tokens', period, tokens);
      this.add(member, 'usd', period, micros);
    }
  }

  /** Adds what a session counts for now, or takes it back with `sign` -1. */
  addStanding({ summary, account }: Pick<Head, 'summary' | 'account'>, sign: 1 | -1 = 1): void {
    if (!account) return;
    const { openedBy, bytes, busy, reserved } = account;
    if (summary.status !== 'archived') this.add(openedBy, 'sessions', '', sign);
    this.add(openedBy, 'bytes', '', sign * Math.ceil(bytes / byteStep) * byteStep);
    // A subagent works for a run that is counted already.
    if (busy && !busy.isUnchecked && !summary.calledBy) this.add(busy.member, 'runs', '', sign);
    if (!reserved) return;
    for (const period of periodsOf(reserved.at)) {
      this.add(reserved.member, 'tokens', period, 0, sign * reserved.tokens);
      this.add(reserved.member, 'usd', period, 0, sign * (reserved.micros ?? 0));
    }
  }

  /** The rows that change, in the order in which every writer locks them. */
  rows(): readonly LedgerRow[] {
    return [...this.#rows]
      .filter(([, { used, reserved }]) => used !== 0 || reserved !== 0)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, row]) => row);
  }
}

/** What an append changes in the ledger, and which quotas it needs. */
export interface Metered {
  readonly changes: readonly LedgerRow[];
  /** The rows that must stay within their limits. Empty for an append that must land, such as an outcome. */
  readonly checks: readonly LedgerKey[];
  /** The agent and the model that a member begins to use. */
  readonly uses?:
    | {
        readonly member?: string | undefined;
        readonly agent?: string;
        readonly model?: string;
        readonly isPriced: boolean;
      }
    | undefined;
}

const charging: ReadonlySet<string> = new Set(['model.completed', 'model.failed', 'message.abandoned']);

const addCharges = (changes: LedgerChanges, events: readonly StoredEvent[]): void => {
  for (const event of events) {
    const charge = charging.has(event.type) ? projectionOf(event).charge : undefined;
    if (!charge || charge.child !== undefined) continue;
    const { member, at, inputTokens, outputTokens, usd = 0 } = charge;
    changes.addUsage(member, at, { tokens: inputTokens + outputTokens, micros: microsOf(usd) });
  }
};

const keysOf = (member: string | undefined, meter: Meter, periods: readonly string[]): readonly LedgerKey[] =>
  (member ? ['', member] : ['']).flatMap((whose) => periods.map((period) => ({ member: whose, meter, period })));

/** Whether the event steers a session and must land, such as a pause, an answer or an archiving. */
const isControl = ({ type }: StoredEvent): boolean =>
  /^(session|agent|approval|question|budget|quota|child|run)\./.test(type);

/** Whether a loop outside Perdure begins a call. Its outcome must land, so the call needs room before it begins. */
const isTrackedCall = ({ type, run }: StoredEvent): boolean => type === 'tool.called' && !run;

const isOpened = (before: Head | undefined, { summary }: Head): boolean =>
  summary.status !== 'archived' && (!before || before.summary.status === 'archived');

/**
 * What an append means for quotas. Undefined if it means nothing, as for most appends. An append that opens a session,
 * admits an input, calls a model or begins a tracked call needs room; so does a writer outside a run that adds bytes.
 */
export const meterAppend = (
  before: Head | undefined,
  { writer }: Pick<AppendRequest, 'writer'>,
  { head, events }: Pick<Appended, 'head' | 'events'>,
): Metered | undefined => {
  const changes = new LedgerChanges();
  if (before) changes.addStanding(before, -1);
  changes.addStanding(head);
  addCharges(changes, events);
  const rows = changes.rows();
  const called = events.findLast(({ type }) => type === 'model.called');
  const admitted = events.find(({ type }) => type === 'input.admitted');
  const opens = isOpened(before, head);
  const binds = events.some(({ type }) => type === 'agent.bound');
  const isContent = writer.kind === 'outside' && !events.every(isControl);
  const grows = isContent && rows.some(({ meter, used }) => meter === 'bytes' && used > 0);
  const needsRoom = grows || events.some(isTrackedCall);
  const begins = called ?? admitted ?? (opens || binds ? events[0] : undefined);
  if (!begins && !needsRoom) return rows.length > 0 ? { changes: rows, checks: [] } : undefined;
  const { openedBy, busy, reserved } = head.account ?? {};
  const checks: LedgerKey[] = [...keysOf(openedBy, 'bytes', [''])];
  if (opens) checks.push(...keysOf(openedBy, 'sessions', ['']));
  const was = before?.account?.busy;
  const takesRun = (admitted && !was) || (called && was?.isUnchecked);
  if (takesRun && busy && !head.summary.calledBy) checks.push(...keysOf(busy.member, 'runs', ['']));
  if (called && reserved) {
    const periods = periodsOf(reserved.at);
    checks.push(...keysOf(reserved.member, 'tokens', periods), ...keysOf(reserved.member, 'usd', periods));
  }
  const agent = head.summary.agent?.name;
  const model = called && reserved?.model;
  const member = called ? reserved?.member : begins && memberOf(begins.actor);
  const isPriced = !called || reserved?.micros !== undefined;
  const uses = begins && {
    member,
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    isPriced,
  };
  return { changes: rows, checks, uses };
};

/** Bytes of blobs that count, and the member for whom they do. Empty if they count for the workspace alone. */
export interface CountedBytes {
  readonly member: string;
  readonly bytes: number;
}

/** What stored blobs mean for quotas or, with bytes below 0, removed ones. */
export const meterBlobs = (counted: readonly CountedBytes[]): Metered | undefined => {
  const changes = new LedgerChanges();
  for (const { member, bytes } of counted) changes.add(member, 'bytes', '', bytes);
  const rows = changes.rows();
  return rows.length > 0 ? { changes: rows, checks: rows.filter(({ used }) => used > 0) } : undefined;
};

/** The changes of several appends together. */
export const sumChanges = (metered: readonly Metered[]): readonly LedgerRow[] => {
  const [first, ...rest] = metered;
  if (first && rest.length === 0) return first.changes;
  const changes = new LedgerChanges();
  for (const { changes: rows } of metered) for (const row of rows) changes.addRow(row);
  return changes.rows();
};
