/**
 * Rejects a release that the database no longer allows. It keeps a shared lock on `perdure.meta` until the transaction
 * ends, so a migration that raises the oldest release waits for writes in flight, and later writes see it.
 */
export const admitFunction = `
  create or replace function perdure.admit(release integer[]) returns void language plpgsql as $function$
  declare
    oldest text;
  begin
    select oldest_reader into oldest from perdure.meta
      where string_to_array(substring(oldest_reader from '^[0-9.]+'), '.')::integer[] > release;
    if found then
      raise exception 'perdure % or later is needed', oldest using errcode = 'PD002';
    end if;
  end
  $function$;
`;

/** The row types of `perdure.append`, as the first migration makes them. */
export const appendTypes = `
  create type perdure.new_head as (
    id text, was bytea, parent text, forked_at bigint, root text, seq bigint, hash bytea, at bigint, epoch bigint, status text,
    updated_at bigint, summary text
  );
  create type perdure.new_event as (
    session text, seq bigint, at bigint, turn bigint, opens_turn boolean, run text, type text, version integer, actor text, salt bytea,
    encoding smallint, payload bytea, hash bytea
  );
  create type perdure.new_path as (
    session text, seq bigint, path text, turn bigint, at bigint, actor text, tool text, provenance text
  );
`;

/**
 * Writes heads and events in one call, because a message to the server costs as much as a row. Outside a transaction,
 * the call is a transaction by itself. It upserts heads, because the plan of an update with a join would depend on
 * estimates of the workspace's size.
 *
 * A head that continues a session must match the stored hash (`was`). It carries no root, which reveals whether the
 * upsert created a session instead. A head that creates a session must find none. Otherwise a head has moved, and
 * nothing is written.
 *
 * A row whose summary was repaired has `was` equal to its own hash. Only a writer that read the row in this
 * transaction (`fresh`) may continue the session. `paths` is null if no event is a commit, and `work_sessions` is null
 * if no event concerns workers.
 *
 * The release of the writer is checked last, unless the oldest release is still the one that the writer has checked
 * (`admitted`). A migration locks the tables that it changes before `perdure.meta`, so
 * the same order here prevents deadlocks.
 */
export const appendFunction = `
  drop function if exists perdure.append;
  create function perdure.append(
    tenant text, heads perdure.new_head[], events perdure.new_event[], fresh boolean, lock_timeout_ms integer,
    paths perdure.new_path[], work_sessions text[], work_seqs bigint[], work_agents text[], work_priorities smallint[],
    release integer[], admitted text
  ) returns void language plpgsql as $function$
  declare
    setting text;
    moved bigint;
    oldest text;
  begin
    setting := set_config('perdure.workspace', tenant, true);
    setting := set_config('synchronous_commit', 'on', true);
    setting := set_config('lock_timeout', lock_timeout_ms::text, true);
    with written as (
      insert into perdure.sessions as s
        (workspace, id, was, parent, forked_at, root, seq, hash, at, epoch, status, updated_at, summary, claim)
      select tenant, h.* from unnest(heads) h
      on conflict (workspace, id) do update
      set was = excluded.was, seq = excluded.seq, hash = excluded.hash, at = excluded.at, epoch = excluded.epoch,
        status = excluded.status, updated_at = excluded.updated_at, summary = excluded.summary,
        claim = excluded.claim
      where s.hash = excluded.was and (fresh or s.was is distinct from s.hash)
      returning s.root
    )
    select count(*) filter (where root <> '') into moved from written;
    if moved <> cardinality(heads) then
      raise exception 'a head has moved' using errcode = 'PD001';
    end if;
    insert into perdure.events
      (workspace, session, seq, at, turn, opens_turn, run, type, version, actor, salt, encoding, payload, hash)
    select tenant, e.* from unnest(events) e;
    if paths is not null then
      insert into perdure.commit_paths
        (workspace, session, seq, path, turn, at, actor, tool, provenance)
      select tenant, p.* from unnest(paths) p;
    end if;
    if work_sessions is not null then
      perform perdure.enter_work(tenant, work_sessions, work_seqs, work_agents, work_priorities);
    end if;
    select oldest_reader into oldest from perdure.meta;
    if oldest is distinct from admitted then
      perform perdure.admit(release);
    end if;
  end
  $function$;
`;
