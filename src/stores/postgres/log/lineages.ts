import { BoundedMap } from '../../../concurrency/bounded-map.ts';
import { type EventRanges, type Head, type SessionKey, sessionKeyName } from '../../../core/ports/store.ts';
import { sessionDamaged } from '../../../core/session/events/session-damaged.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { isCount } from '../../is-count.ts';
import { type LineageLink, lineageOf, type Origin, type Segment, segmentsOf, spansOf } from '../../log/lineage.ts';
import { type Database, prepared } from '../server/database.ts';

interface LineageRow extends Origin {
  readonly id: SessionId;
  readonly seq: number;
}

/** `union` drops rows seen before, so the recursion ends even if a session was edited to be its own ancestor. */
const find = prepared(
  'find_lineage',
  `with recursive line as (
     select id, parent, forked_at, seq from perdure.sessions where workspace = $1 and id = $2
     union
     select s.* from line cross join lateral (
       select id, parent, forked_at, seq from perdure.sessions where workspace = $1 and id = line.parent limit 1
     ) s
   )
   select id, parent, forked_at as "forkedAt", seq from line`,
);

/** Caches lineages, because a session's fork point never changes. */
export class Lineages {
  readonly #database: Database;
  readonly #kept = new BoundedMap<string, readonly LineageLink[]>(10_000);

  constructor(database: Database) {
    this.#database = database;
  }

  /** Links from the session itself to its root; undefined when the session does not exist. */
  async get(key: SessionKey): Promise<readonly LineageLink[] | undefined> {
    return this.#kept.get(sessionKeyName(key)) ?? (await this.withHead(key))?.lineage;
  }

  async withHead(key: SessionKey): Promise<{ lineage: readonly LineageLink[]; seq: number } | undefined> {
    const rows = await this.#database.read<LineageRow>(key.workspace, find(key.workspace, key.session));
    const byId = new Map(rows.map((row) => [row.id, row]));
    const lineage = lineageOf(key.session, (id) => byId.get(id));
    if (!lineage) return undefined;
    const { seq } = byId.get(key.session)!;
    if (!isCount(seq)) throw sessionDamaged(key.session, `the row of ${key.session} says seq ${seq}, which cannot be`);
    this.#kept.set(sessionKeyName(key), lineage);
    return { lineage, seq };
  }

  /** The segments that store the events of these ranges, newest first. */
  async spans(workspace: WorkspaceId, { session, ranges }: EventRanges): Promise<readonly Segment[]> {
    const lineage = (await this.get({ workspace, session })) ?? [];
    return spansOf(segmentsOf(lineage, Number.MAX_SAFE_INTEGER), ranges);
  }

  /** Caches the lineage of a head just read, to save a query later. */
  learn(head: Head): void {
    if (this.#kept.has(sessionKeyName(head))) return;
    const above = head.parent && this.#kept.get(sessionKeyName({ ...head, session: head.parent.session }));
    const link = { session: head.session, forkedAt: head.parent?.seq ?? 0 };
    if (!head.parent) this.#kept.set(sessionKeyName(head), [link]);
    else if (above) this.#kept.set(sessionKeyName(head), [link, ...above]);
  }
}
