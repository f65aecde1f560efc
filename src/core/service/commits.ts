import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { Text } from '../../schema/json.ts';
import { Pointer, Provenance } from '../../schema/state.ts';
import type { CallQuery, CallRecord, CallStatus, CommitQuery, SessionKey } from '../ports/store.ts';
import { decodeEvent, parseInput } from '../session/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive, type LiveRange, liveWithin } from '../session/live-lineage.ts';
import { indexedPrefix, matchesPattern } from '../session/projections.ts';
import { entriesTouched } from '../session/state-change.ts';
import { firstLiveTurn } from './points.ts';
import type { Scope } from './scope.ts';

type Committed = SessionEvent<'state.committed'>;

/** A change of the state: when, in which turn, by whom or what, and what changed. */
export type CommitRecord = Pick<Committed, 'session' | 'seq' | 'turn' | 'at' | 'actor'> &
  Committed['payload'] & {
    /** The entries it changed. */
    readonly entries: readonly string[];
  };

export const commitRecord = ({ session, seq, turn, at, actor, payload }: Committed): CommitRecord => ({
  session,
  seq,
  turn,
  at,
  actor,
  ...payload,
  entries: payload.origin?.kind === 'lift' ? payload.origin.paths : entriesTouched(payload.delta),
});

interface Window {
  /** Turns, both inclusive. */
  readonly turns?: { readonly from?: number; readonly to?: number } | undefined;
  readonly last?: { readonly turns: number } | undefined;
  /** Also what rewinds left behind. */
  readonly includeRewound?: boolean | undefined;
  readonly since?: Date | number | undefined;
  readonly until?: Date | number | undefined;
  readonly limit?: number | undefined;
}

export interface CommitFilter extends Window {
  /** A pattern such as `/filesModified/**`. */
  readonly path?: string | undefined;
  readonly tool?: string | undefined;
  readonly actor?: string | undefined;
  readonly provenance?: Provenance | readonly Provenance[] | undefined;
}

export interface CallFilter extends Window {
  readonly tool?: string | undefined;
  readonly status?: CallStatus | readonly CallStatus[] | undefined;
}

const Turn = z.int().nonnegative();
const Time = z.union([z.date(), z.number()]);
const Query = z.object({
  turns: z.strictObject({ from: Turn.optional(), to: Turn.optional() }).optional(),
  last: z.strictObject({ turns: z.int().positive() }).optional(),
  since: Time.optional(),
  until: Time.optional(),
  limit: z.int().positive().optional(),
  path: Pointer.optional(),
  tool: Text.optional(),
  actor: Text.optional(),
  provenance: z.union([Provenance, z.array(Provenance)]).optional(),
});

const pageSize = 200;
const defaultLimit = 1000;

const many = <T extends string>(value: T | readonly T[] | undefined): readonly T[] | undefined =>
  typeof value === 'string' ? [value] : value;

const time = (value: Date | number | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

/** The number of the live turn that is `count`th from the end, or of the first there is. */
const turnFromEnd = async (scope: Scope, key: SessionKey, head: SessionFold, count: number): Promise<number> => {
  for (let span = count; ; span *= 2) {
    const from = Math.max(1, head.lastTurn - span + 1);
    const starts = await scope.store.turnStarts(key, { from, limit: span });
    const live = starts.filter(({ seq }) => isLive(head.live, seq));
    if (live.length >= count) return live.at(-count)!.turn;
    if (from === 1) return 0;
  }
};

interface TurnBounds {
  readonly from: number;
  readonly to: number;
}

const turnBounds = async (
  scope: Scope,
  key: SessionKey,
  head: SessionFold,
  { turns, last }: Window,
): Promise<TurnBounds> => ({
  from: last ? await turnFromEnd(scope, key, head, last.turns) : (turns?.from ?? 0),
  to: turns?.to ?? Number.POSITIVE_INFINITY,
});

/** The events to look among. Turns rise along the live lineage, so theirs lie between the first of one and the first after another. */
const rangesFor = async (
  scope: Scope,
  key: SessionKey,
  head: SessionFold,
  { from, to }: TurnBounds,
  includeRewound: boolean,
): Promise<readonly LiveRange[]> => {
  const [first] = from > 0 ? await scope.store.turnStarts(key, { from, limit: 1 }) : [{ seq: 1 }];
  if (!first) return [];
  if (includeRewound) return [[first.seq, head.seq]];
  const next = to < head.lastTurn ? await firstLiveTurn(scope.store, key, head, to + 1) : undefined;
  return liveWithin(head.live, first.seq - 1, next ? next.seq - 1 : head.seq);
};

const lookAmong = async (scope: Scope, key: SessionKey | undefined, window: Window) => {
  if (!key) return { within: undefined, isWanted: () => true };
  const head = await scope.folds.head(key);
  const bounds = await turnBounds(scope, key, head, window);
  const ranges = await rangesFor(scope, key, head, bounds, window.includeRewound ?? false);
  return {
    within: { session: key.session, ranges },
    isWanted: ({ turn }: { readonly turn: number }) => bounds.from <= turn && turn <= bounds.to,
  };
};

/** Commits that match, newest first: of one session, or without a key of the whole workspace. Answered from an index. */
export const findCommits = async (
  scope: Scope,
  key: SessionKey | undefined,
  filter: CommitFilter = {},
): Promise<readonly CommitRecord[]> => {
  parseInput('the query', Query, filter);
  const { path, tool, actor, limit = defaultLimit } = filter;
  const { within, isWanted } = await lookAmong(scope, key, filter);
  const query: CommitQuery = {
    within,
    prefix: path === undefined ? undefined : indexedPrefix(path),
    tool,
    actor,
    provenance: many(filter.provenance),
    since: time(filter.since),
    until: time(filter.until),
    limit: pageSize,
  };
  const found: CommitRecord[] = [];
  for (let before: CommitQuery['before']; found.length < limit; ) {
    const page = await scope.store.findCommits(scope.workspace, { ...query, before });
    for (const stored of page) {
      const record = commitRecord(decodeEvent(scope.workspace, stored) as Committed);
      if (isWanted(record) && (path === undefined || touches(record, path))) found.push(record);
    }
    const last = page.at(-1);
    if (page.length < pageSize || !last) break;
    before = { at: last.at, session: last.session, seq: last.seq };
  }
  return found.slice(0, limit);
};

export const touches = ({ delta, entries, origin }: CommitRecord, pattern: string): boolean => {
  const paths = origin?.kind === 'lift' ? entries : delta.flatMap(({ op, path }) => (op === 'test' ? [] : [path]));
  return paths.some((path) => matchesPattern(pattern, path));
};

/** Tool calls that match, newest first. */
export const findCalls = async (
  scope: Scope,
  key: SessionKey | undefined,
  filter: CallFilter = {},
): Promise<readonly CallRecord[]> => {
  parseInput('the query', Query, filter);
  const { within, isWanted } = await lookAmong(scope, key, filter);
  const query: CallQuery = {
    within,
    tool: filter.tool,
    status: many(filter.status),
    since: time(filter.since),
    until: time(filter.until),
    limit: pageSize,
  };
  const { limit = defaultLimit } = filter;
  const found: CallRecord[] = [];
  for (let before: CallQuery['before']; found.length < limit; ) {
    const page = await scope.store.findCalls(scope.workspace, { ...query, before });
    found.push(...page.filter(isWanted));
    const last = page.at(-1);
    if (page.length < pageSize || !last) break;
    before = { at: last.at, session: last.session, seq: last.seq };
  }
  return found.slice(0, limit);
};
