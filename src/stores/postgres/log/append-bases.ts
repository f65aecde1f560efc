import type pg from 'pg';
import type { Appended, AppendRequest, Head, StoredKey } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import type { Quotas } from '../../log/check-quotas.ts';
import type { PlacedHead } from '../../log/listing-key.ts';
import type { AppendBase } from '../../log/plan-append.ts';
import { type HeadRow, headOf } from '../../log/stored-head.ts';
import { exchange, prepared, type Statement } from '../server/database.ts';
import { hexOf } from './blobs.ts';
import { headColumns } from './head-rows.ts';
import { findQuotas, quotasIn } from './ledger-rows.ts';

/**
 * The lateral join forces the planner to look up one head at a time by primary key, in the given order. That order
 * prevents deadlocks.
 */
const lockHeads = prepared(
  'lock_heads',
  `select s.* from unnest($2::text[]) asked(id)
   cross join lateral (
     select ${headColumns} from perdure.sessions where workspace = $1 and id = asked.id limit 1 for update
   ) s`,
);

const findKeys = prepared(
  'find_keys',
  `select k.* from unnest($2::text[], $3::text[]) asked(session, key)
   cross join lateral (
     select session, key, body_hash as "bodyHash", seq, count from perdure.keys
     where workspace = $1 and session = asked.session and key = asked.key limit 1
   ) k`,
);

/** The events at which forks start. Each belongs to the nearest ancestor whose own events reach down to that seq. */
const findPoints = prepared(
  'find_points',
  `with recursive up as (
     select asked.session as asked, asked.seq, s.id, s.parent, s.forked_at
     from unnest($2::text[], $3::bigint[]) asked(session, seq)
     cross join lateral (
       select id, parent, forked_at from perdure.sessions
       where workspace = $1 and id = asked.session and seq >= asked.seq limit 1
     ) s
     union
     select up.asked, up.seq, s.id, s.parent, s.forked_at
     from up cross join lateral (
       select id, parent, forked_at from perdure.sessions
       where workspace = $1 and id = up.parent and up.seq <= up.forked_at limit 1
     ) s
   )
   select up.seq as point, e.hash as point_hash, e.at as point_at, s.*
   from up
   cross join lateral (
     select hash, at from perdure.events where workspace = $1 and session = up.id and seq = up.seq limit 1
   ) e
   cross join lateral (select ${headColumns} from perdure.sessions where workspace = $1 and id = up.asked limit 1) s`,
);

/** Salts are random, so a stored hash proves that exactly this attempt wrote the event. */
const findLanded = prepared(
  'find_landed',
  `select e.hash from unnest($2::text[], $3::bigint[]) sent(session, seq)
   cross join lateral (
     select hash from perdure.events where workspace = $1 and session = sent.session and seq = sent.seq limit 1
   ) e`,
);

interface KeyRow extends StoredKey {
  readonly session: SessionId;
}

interface PointRow extends HeadRow {
  readonly point: number;
  readonly point_hash: Uint8Array;
  readonly point_at: number;
}

/** The parts of a request that need lookups. */
export type AppendSubject = Pick<AppendRequest, 'session' | 'key' | 'creates'>;

const pairName = (session: SessionId, other: string | number): string => `${session}/${other}`;

/** The stored state that appends are planned on, including the effect of the requests planned so far. */
export class AppendBases {
  readonly #workspace: WorkspaceId;
  readonly #before: ReadonlyMap<SessionId, () => PlacedHead>;
  readonly #heads = new Map<SessionId, Head>();
  readonly #keys: Map<string, StoredKey>;
  readonly #points: ReadonlyMap<string, PointRow>;
  readonly #landed: ReadonlySet<string>;

  readonly quotas: Quotas;
  /** The same state, without the effect of requests. */
  readonly again: () => AppendBases;

  /**
   * Heads are parsed lazily, so that an unreadable head fails only the request that needs it. Cached heads come without
   * quotas, and the database rejects a batch that needs them.
   */
  constructor(
    workspace: WorkspaceId,
    heads: ReadonlyMap<SessionId, () => PlacedHead>,
    keys: readonly KeyRow[] = [],
    points: readonly PointRow[] = [],
    landed: readonly { readonly hash: Uint8Array }[] = [],
    quotas: Quotas = new Map(),
  ) {
    this.quotas = quotas;
    this.again = () => new AppendBases(workspace, heads, keys, points, landed, quotas);
    this.#workspace = workspace;
    this.#before = heads;
    this.#keys = new Map(keys.map((row) => [pairName(row.session, row.key), row]));
    this.#points = new Map(points.map((row) => [pairName(row.id, row.point), row]));
    this.#landed = new Set(landed.map(({ hash }) => hexOf(hash)));
  }

  baseOf({ session, key, creates }: AppendSubject): AppendBase {
    const point = creates?.parent && this.#points.get(pairName(creates.parent.session, creates.parent.seq));
    return {
      head: this.#heads.get(session) ?? this.before(session),
      parent: point && { head: headOf(this.#workspace, point), hash: point.point_hash, at: point.point_at },
      key: key && this.#keys.get(pairName(session, key.key)),
    };
  }

  /** The head as stored in the database, before the requests planned so far. */
  before(session: SessionId): PlacedHead | undefined {
    return this.#before.get(session)?.();
  }

  landed(attempts: readonly Appended[]): Appended | undefined {
    return attempts.find(({ head }) => this.#landed.has(hexOf(head.hash)));
  }

  advance({ session, key }: AppendSubject, { head, events }: Appended): void {
    this.#heads.set(session, head);
    if (key) this.#keys.set(pairName(session, key.key), { ...key, seq: events[0]!.seq, count: events.length });
  }
}

/**
 * Locks the heads first and reads the rest in separate statements. Only a later statement sees what another writer
 * committed while this one waited for the lock. Most appends need only the heads.
 */
export const readBases = async (
  client: pg.Client,
  workspace: WorkspaceId,
  opening: Statement | undefined,
  requests: readonly AppendSubject[],
  attempts: readonly Appended[],
): Promise<AppendBases> => {
  const keyed = requests.filter(({ key }) => key);
  const points = requests.flatMap(({ creates }) => creates?.parent ?? []);
  const [, heads, keys, found, landed, quotas] = await exchange(client, [
    opening,
    lockHeads(workspace, [...new Set(requests.map(({ session }) => session))].sort()),
    keyed.length > 0
      ? findKeys(
          workspace,
          keyed.map(({ session }) => session),
          keyed.map(({ key }) => key!.key),
        )
      : undefined,
    points.length > 0
      ? findPoints(
          workspace,
          points.map(({ session }) => session),
          points.map(({ seq }) => seq),
        )
      : undefined,
    attempts.length > 0
      ? findLanded(
          workspace,
          attempts.map(({ head }) => head.session),
          attempts.map(({ head }) => head.seq),
        )
      : undefined,
    findQuotas(workspace),
  ]);
  const byId = new Map(heads!.rows.map((row: HeadRow) => [row.id, () => headOf(workspace, row)]));
  return new AppendBases(workspace, byId, keys!.rows, found!.rows, landed!.rows, quotasIn(quotas!.rows));
};
