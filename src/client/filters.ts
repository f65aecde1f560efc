import type { RunsOptions } from '../core/runs/list-runs.ts';
import type { UsageQuery } from '../core/runs/workspace-usage.ts';
import type { ListOptions } from '../core/sessions/list-sessions.ts';
import type { CallFilter, CommitFilter } from '../core/state/record-filter.ts';
import type { Query } from './address.ts';

const time = (value: Date | number | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

/** Converts a filter to query parameters. */
export const filterQuery = ({
  turns,
  last,
  since,
  until,
  ...filter
}: CommitFilter & CallFilter & UsageQuery = {}): Query => ({
  ...filter,
  since: time(since),
  until: time(until),
  lastTurns: last?.turns,
  fromTurn: turns?.from,
  toTurn: turns?.to,
});

export const listQuery = ({ since, until, metadata, ...options }: ListOptions = {}): Query => ({
  ...options,
  metadata: metadata && JSON.stringify(metadata),
  since: time(since),
  until: time(until),
});

export const runsQuery = ({ since, until, ...options }: RunsOptions = {}): Query => ({
  ...options,
  since: time(since),
  until: time(until),
});
