import type pg from 'pg';
import type { Charge } from '../../../core/ports/charges.ts';
import type { CallRecord, StoredEvent } from '../../../core/ports/store.ts';
import { withReadActor } from '../../../core/session/events/imported-event.ts';
import type { CommitPath } from '../../../core/session/projections.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { projectionOf } from '../../log/projected-rows.ts';
import { prepared } from '../server/database.ts';
import { batchCalls, type CallBatch, type CallEnd } from './call-batch.ts';

const insertPaths = prepared(
  'insert_commit_paths',
  `insert into perdure.commit_paths (workspace, session, seq, path, turn, at, actor, tool, provenance)
   select $1, * from unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
     $9::text[])`,
);

const insertCalls = prepared(
  'insert_tool_calls',
  `insert into perdure.tool_calls
     (workspace, session, seq, call_id, tool, status, run, turn, at, actor, ended_seq, duration_ms, input_hash,
      output_hash, source, effects, confined, root)
   select $1, c.*, s.root from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
     $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::double precision[], $13::text[], $14::text[],
     $15::text[], $16::text[], $17::boolean[]) c(session)
   join perdure.sessions s on s.workspace = $1 and s.id = c.session`,
);

/**
 * Ends the newest open call with that id. If several ends with one id arrive together, each ends the next older call.
 */
const endCalls = prepared(
  'end_tool_calls',
  `update perdure.tool_calls c
   set status = e.status, ended_seq = e.ended_seq, duration_ms = e.duration_ms, output_hash = e.output_hash,
     source = e.source
   from unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::double precision[], $8::text[],
     $9::text[]) e(session, call_id, newer, status, ended_seq, duration_ms, output_hash, source)
   cross join lateral (
     select o.seq from perdure.tool_calls o
     where o.workspace = $1 and o.session = e.session and o.call_id = e.call_id and o.ended_seq is null
     order by o.seq desc offset e.newer limit 1
   ) found
   where c.workspace = $1 and c.session = e.session and c.seq = found.seq`,
);

const insertCharges = prepared(
  'insert_charges',
  `insert into perdure.charges
     (workspace, session, seq, at, run, agent, model, member, child, input_tokens, output_tokens, cached_tokens, usd,
      is_rest)
   select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
     $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::double precision[], $14::boolean[])`,
);

export interface PathRow extends CommitPath {
  readonly event: StoredEvent;
}

const insertPathRows = (workspace: WorkspaceId, rows: readonly PathRow[]): pg.QueryConfig =>
  insertPaths(
    workspace,
    rows.map(({ event }) => event.session),
    rows.map(({ event }) => event.seq),
    rows.map(({ path }) => path),
    rows.map(({ event }) => event.turn),
    rows.map(({ event }) => event.at),
    rows.map(({ event }) => event.actor),
    rows.map(({ tool }) => tool ?? null),
    rows.map(({ provenance }) => provenance ?? null),
  );

const insertCallRows = (workspace: WorkspaceId, calls: readonly CallRecord[]): pg.QueryConfig =>
  insertCalls(
    workspace,
    calls.map(({ session }) => session),
    calls.map(({ seq }) => seq),
    calls.map(({ callId }) => callId),
    calls.map(({ tool }) => tool),
    calls.map(({ status }) => status),
    calls.map(({ run }) => run ?? null),
    calls.map(({ turn }) => turn),
    calls.map(({ at }) => at),
    calls.map(({ actor }) => actor),
    calls.map(({ endedSeq }) => endedSeq ?? null),
    calls.map(({ durationMs }) => durationMs ?? null),
    calls.map(({ inputHash }) => inputHash),
    calls.map(({ outputHash }) => outputHash ?? null),
    calls.map(({ source }) => source ?? null),
    calls.map(({ effects }) => effects ?? null),
    calls.map(({ confined }) => confined ?? null),
  );

const endCallRows = (workspace: WorkspaceId, ends: readonly CallEnd[]): pg.QueryConfig =>
  endCalls(
    workspace,
    ends.map(({ session }) => session),
    ends.map(({ callId }) => callId),
    ends.map(({ newer }) => newer),
    ends.map(({ outcome }) => outcome),
    ends.map(({ endedSeq }) => endedSeq),
    ends.map(({ durationMs }) => durationMs),
    ends.map(({ outputHash }) => outputHash ?? null),
    ends.map(({ source }) => source ?? null),
  );

const insertChargeRows = (workspace: WorkspaceId, charges: readonly Charge[]): pg.QueryConfig =>
  insertCharges(
    workspace,
    charges.map(({ session }) => session),
    charges.map(({ seq }) => seq),
    charges.map(({ at }) => at),
    charges.map(({ run }) => run ?? null),
    charges.map(({ agent }) => agent ?? null),
    charges.map(({ model }) => model ?? null),
    charges.map(({ member }) => member ?? null),
    charges.map(({ child }) => child ?? null),
    charges.map(({ inputTokens }) => inputTokens),
    charges.map(({ outputTokens }) => outputTokens),
    charges.map(({ cachedTokens }) => cachedTokens),
    charges.map(({ usd }) => usd ?? null),
    charges.map(({ isRest }) => isRest ?? null),
  );

export interface Projections {
  readonly paths: readonly PathRow[];
  readonly calls: CallBatch;
  readonly charges: readonly Charge[];
}

/** The rows by which queries find commits, calls and usage. Most events have none. */
export const projectionsOf = (events: readonly StoredEvent[]): Projections => {
  const projected = events.map(withReadActor).map((event) => ({ event, ...projectionOf(event) }));
  return {
    paths: projected.flatMap((each) => each.paths.map((path) => ({ ...path, event: each.event }))),
    calls: batchCalls(projected.flatMap(({ event, call }) => (call ? [{ event, call }] : []))),
    charges: projected.flatMap(({ charge }) => charge ?? []),
  };
};

/**
 * The statements that write calls, ends of calls and charges. Ends are written first, because they belong to calls that
 * are already stored.
 */
export const writeRareRows = (
  workspace: WorkspaceId,
  { calls: { made, ended }, charges }: Omit<Projections, 'paths'>,
): readonly pg.QueryConfig[] => [
  ...(ended.length > 0 ? [endCallRows(workspace, ended)] : []),
  ...(made.length > 0 ? [insertCallRows(workspace, made)] : []),
  ...(charges.length > 0 ? [insertChargeRows(workspace, charges)] : []),
];

export const insertProjections = (
  workspace: WorkspaceId,
  events: readonly StoredEvent[],
): readonly pg.QueryConfig[] => {
  const { paths, ...rare } = projectionsOf(events);
  return [...(paths.length > 0 ? [insertPathRows(workspace, paths)] : []), ...writeRareRows(workspace, rare)];
};
