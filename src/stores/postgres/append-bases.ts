import type pg from 'pg';
import type { Appended, AppendRequest, Head, StoredKey } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { AppendBase } from '../plan-append.ts';
import { hexOf } from './blobs.ts';
import { byteaArray } from './bytea-array.ts';
import { exchange, prepared, type Statement } from './database.ts';
import { type HeadRow, headColumns, headOf } from './head-rows.ts';

const lockHeads = prepared(
  'lock_heads',
  `select ${headColumns} from perdure.sessions where workspace = $1 and id = any($2::text[]) order by id for update`,
);

const findKeys = prepared(
  'find_keys',
  `select k.session, k.key, k.body_hash as "bodyHash", k.seq, k.count
   from unnest($2::text[], $3::text[]) asked(session, key)
   join perdure.keys k on k.workspace = $1 and k.session = asked.session and k.key = asked.key`,
);

/** The events that forks go on from: each belongs to the nearest ancestor whose own events reach down to it. */
const findPoints = prepared(
  'find_points',
  `with recursive up as (
     select asked.session as asked, asked.seq, s.id, s.parent, s.forked_at
     from unnest($2::text[], $3::bigint[]) asked(session, seq)
     join perdure.sessions s on s.workspace = $1 and s.id = asked.session and asked.seq <= s.seq
     union
     select up.asked, up.seq, s.id, s.parent, s.forked_at
     from up join perdure.sessions s on s.workspace = $1 and s.id = up.parent and up.seq <= up.forked_at
   )
   select up.seq as point, e.hash as point_hash, e.at as point_at, s.*
   from up
   join perdure.events e on e.workspace = $1 and e.session = up.id and e.seq = up.seq
   join lateral (select ${headColumns} from perdure.sessions where workspace = $1 and id = up.asked) s on true`,
);

/** Salts are random, so a hash that is there got there by the attempt that made it. */
const findLanded = prepared(
  'find_landed',
  `select e.hash from unnest($2::text[], $3::bigint[], $4::bytea[]) sent(session, seq, hash)
   join perdure.events e on e.workspace = $1 and e.session = sent.session and e.seq = sent.seq and e.hash = sent.hash`,
);

interface KeyRow extends StoredKey {
  readonly session: SessionId;
}

interface PointRow extends HeadRow {
  readonly point: number;
  readonly point_hash: Uint8Array;
  readonly point_at: number;
}

/** What of a request needs to be looked up. */
export type AppendSubject = Pick<AppendRequest, 'session' | 'key' | 'creates'>;

const pairName = (session: SessionId, other: string | number): string => `${session}/${other}`;

/** What is known of the database, and what the requests planned so far made of it. */
export class AppendBases {
  readonly #workspace: WorkspaceId;
  readonly #before: ReadonlyMap<SessionId, () => Head>;
  readonly #heads = new Map<SessionId, Head>();
  readonly #keys: Map<string, StoredKey>;
  readonly #points: ReadonlyMap<string, PointRow>;
  readonly #landed: ReadonlySet<string>;

  /** A head that cannot be read fails the request that needs it, not the others: so each is made when it is asked for. */
  constructor(
    workspace: WorkspaceId,
    heads: ReadonlyMap<SessionId, () => Head>,
    keys: readonly KeyRow[] = [],
    points: readonly PointRow[] = [],
    landed: readonly { readonly hash: Uint8Array }[] = [],
  ) {
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

  /** The head as the database has it. */
  before(session: SessionId): Head | undefined {
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
 * Locks the heads and reads the rest in statements of their own: only these see what a writer committed whom the lock waited for. Rarely
 * anything but the heads is asked for.
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
  const [, heads, keys, found, landed] = await exchange(client, [
    opening,
    lockHeads(workspace, [...new Set(requests.map(({ session }) => session))]),
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
          byteaArray(attempts.map(({ head }) => head.hash)),
        )
      : undefined,
  ]);
  const byId = new Map(heads!.rows.map((row: HeadRow) => [row.id, () => headOf(workspace, row)]));
  return new AppendBases(workspace, byId, keys!.rows, found!.rows, landed!.rows);
};
