/** What a quota counts. USD are counted in millionths. */
export const meters = ['sessions', 'bytes', 'runs', 'tokens', 'usd'] as const;
export type Meter = (typeof meters)[number];

/**
 * Names a row of the ledger. `member` is empty for the workspace as a whole. `period` is a day (`2026-11-18`) or a month
 * (`2026-11`) of UTC, or empty for a meter that counts what exists now.
 */
export interface LedgerKey {
  readonly member: string;
  readonly meter: Meter;
  readonly period: string;
}

/** A row of the ledger, or a change of one. `reserved` is what model requests in flight may use at most. */
export interface LedgerRow extends LedgerKey {
  readonly used: number;
  readonly reserved: number;
}

/** The limits of a quota. An absent field does not limit. */
export interface QuotaLimits {
  readonly sessions?: number | undefined;
  readonly bytes?: number | undefined;
  readonly streams?: number | undefined;
  readonly runs?: number | undefined;
  readonly tokensPerDay?: number | undefined;
  readonly tokensPerMonth?: number | undefined;
  readonly usdPerDay?: number | undefined;
  readonly usdPerMonth?: number | undefined;
  /** The agents and models that may be used, by name. */
  readonly agents?: readonly string[] | undefined;
  readonly models?: readonly string[] | undefined;
}

/** The ids of the quota records: the workspace as a whole, the default of its members, and single members. */
export const workspaceQuota = 'workspace';
export const membersQuota = 'members';
export const memberQuota = (member: string): string => `member:${member}`;

/** Why a quota refuses an append. Exactly one quota is named, those of the workspace first. */
export type QuotaRefusal =
  | {
      readonly kind: 'exceeded';
      /** The field of the quota. */
      readonly quota: keyof QuotaLimits;
      /** The member whose quota it is. Absent for the workspace. */
      readonly member?: string | undefined;
      readonly used: number;
      readonly asked: number;
      readonly limit: number;
      /** When the period ends and the quota begins anew. */
      readonly resetsAt?: number | undefined;
    }
  | {
      readonly kind: 'excluded';
      readonly quota: 'agents' | 'models';
      readonly member?: string | undefined;
      readonly name: string;
      readonly allowed: readonly string[];
    }
  /** The quota limits USD, and the price of the model is not known. */
  | {
      readonly kind: 'unpriced';
      readonly quota: 'usdPerDay' | 'usdPerMonth';
      readonly member?: string | undefined;
      readonly name: string;
      readonly limit: number;
    };

/** What a model request in flight may use at most. */
export interface Reservation {
  readonly message: string;
  readonly model: string;
  readonly at: number;
  readonly tokens: number;
  /** Millionths of a USD. Absent when the price is not known. */
  readonly micros?: number | undefined;
  readonly member?: string | undefined;
}

/** A run that is admitted or at work. */
export interface BusyRun {
  readonly run: string | undefined;
  readonly member?: string | undefined;
  /** Whether no quota of runs was checked since the run went on. It counts from its next model request, which is. */
  readonly isUnchecked?: boolean;
}

/**
 * What a session counts for in the quotas of its workspace. A store keeps it beside the summary, so that an append knows
 * what it changes without reading the log.
 */
export interface Account {
  /** The member who opened or imported the session. */
  readonly openedBy?: string | undefined;
  /** The size of the session's own payloads. */
  readonly bytes: number;
  /** The run that is admitted or at work. A run that waits is not. */
  readonly busy?: BusyRun | undefined;
  readonly reserved?: Reservation | undefined;
}
