import type { RunId, SessionId } from '../../schema/ids.ts';
import type { Viewer } from './viewers.ts';

/**
 * The usage that one event of a session's log records: that of a model call, or that of an ended subagent. The
 * subagent's own log holds the same usage, so only charges without `child` count for a total.
 */
export interface Charge {
  readonly session: SessionId;
  readonly seq: number;
  readonly at: number;
  readonly run?: RunId | undefined;
  readonly agent?: string | undefined;
  /** The model that answered. Absent for a subagent. */
  readonly model?: string | undefined;
  /** The member whose input the run answers. */
  readonly member?: string | undefined;
  /** The session of the subagent. Absent for a model call. */
  readonly child?: SessionId | undefined;
  /** Set for the rest of a broken-off answer, whose call another charge counts. */
  readonly isRest?: true | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** Absent when the price is not known. */
  readonly usd?: number | undefined;
}

export const chargeGroups = ['run', 'session', 'agent', 'model', 'member', 'day', 'month'] as const;
export type ChargeGroup = (typeof chargeGroups)[number];

/** Groups whose keys begin with a time are listed newest first, the others by name. */
export const isNewestFirst: Readonly<Record<ChargeGroup, boolean>> = {
  run: true,
  session: true,
  day: true,
  month: true,
  agent: false,
  model: false,
  member: false,
};

/** Filters charges. An absent field does not filter. */
export interface ChargeQuery {
  /** Without `within`: only the charges of sessions that this caller sees. Absent means all. */
  readonly viewer?: Viewer | undefined;
  /** Only within these ranges of a session's events, including inherited ones. */
  readonly within?:
    | { readonly session: SessionId; readonly ranges: readonly (readonly [from: number, to: number])[] }
    | undefined;
  readonly session?: SessionId | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly member?: string | undefined;
  /** The time range in milliseconds since 1970, both ends inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface GroupedCharges extends ChargeQuery {
  readonly by: ChargeGroup;
  readonly limit: number;
  /** The key of the last group of the previous page. */
  readonly after?: string | undefined;
}

/** The sum of some charges. `unpriced` counts the calls whose price is not known. */
export interface ChargeAmounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly usd: number;
  readonly unpriced: number;
}

export interface ChargeSum {
  /** The number of model calls in `own`. */
  readonly calls: number;
  /** The model calls of the sessions themselves. */
  readonly own: ChargeAmounts;
  /** The ended subagents that were charged to these sessions. */
  readonly children: ChargeAmounts;
}

export interface ChargeGroupSum extends ChargeSum {
  /** The value that the charges of this group share, or '' if they have none. Days and months are those of UTC. */
  readonly key: string;
}
