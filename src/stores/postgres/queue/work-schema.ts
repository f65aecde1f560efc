import { preferMs } from '../../../core/ports/queue.ts';
import { forgetMs } from '../../queue/pick-work.ts';
import { tenantTable } from '../server/tenant-table.ts';

/**
 * A row waits until `visible_at`: when it was entered, when it is due, or when its lease lapses. `visible_at` is
 * infinity if the row only remembers where the session's files are. `ready` marks claimable rows, so that claims do
 * not read rows that wait. Entering and releasing set `ready` immediately. When a waiting row becomes visible, the
 * next claim sets it.
 */
const workTable = `
  create table perdure.work (
    workspace text collate "C" not null,
    session text collate "C" not null,
    seq bigint not null,
    done bigint not null default 0,
    agent text collate "C" not null,
    priority smallint not null,
    visible_at timestamptz not null default clock_timestamp(),
    ready boolean not null default true,
    lacks_agent boolean not null default false,
    place text collate "C",
    worker text collate "C",
    machine text collate "C",
    process bigint,
    process_start text,
    primary key (workspace, session)
  ) with (fillfactor = 60);
  create index work_ready on perdure.work (agent, workspace, priority desc, visible_at) where ready;
  create index work_stranded on perdure.work (agent, visible_at) where ready and not lacks_agent and agent <> '';
  create index work_waiting on perdure.work (visible_at) where not ready and visible_at < 'infinity';
  create index work_held on perdure.work (workspace) where not ready and worker is not null;
  create index work_by_worker on perdure.work (worker) where worker is not null;
  create index work_by_machine on perdure.work (machine, worker) where worker is not null;
  ${tenantTable('work')}
  create policy dispatch on perdure.work
    using (current_setting('perdure.dispatch', true) = 'on')
    with check (current_setting('perdure.dispatch', true) = 'on');

  create table perdure.workers (
    worker text collate "C" primary key,
    machine text collate "C" not null,
    process bigint not null,
    process_start text not null,
    place text collate "C" not null,
    only_workspace text collate "C",
    agents text[] collate "C" not null,
    concurrency integer not null,
    draining boolean not null,
    started_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null,
    lost_at timestamptz not null
  );
`;

/** A null seq only updates agent and priority. A held row keeps its time, because its holder finds the new events. */
const enterFunction = `
  create function perdure.enter_work(tenant text, sessions text[], seqs bigint[], agents text[], priorities smallint[])
  returns void language sql as $function$
    insert into perdure.work as w (workspace, session, seq, agent, priority)
    select tenant, n.session, coalesce(n.seq, 0), n.agent, n.priority
    from unnest(sessions, seqs, agents, priorities) n(session, seq, agent, priority)
    where n.seq is not null
      or exists (select from perdure.work there where there.workspace = tenant and there.session = n.session)
    on conflict (workspace, session) do update
    set seq = greatest(w.seq, excluded.seq), agent = excluded.agent, priority = excluded.priority,
      lacks_agent = w.lacks_agent and excluded.seq <= w.seq and excluded.agent = w.agent,
      ready = w.ready or (excluded.seq > w.seq and w.worker is null),
      visible_at = case when excluded.seq > w.seq and w.worker is null
        then least(w.visible_at, excluded.visible_at) else w.visible_at end
    where excluded.seq > w.seq or excluded.agent <> w.agent or excluded.priority <> w.priority;
  $function$;
`;

/**
 * `free_work` releases all sessions of these workers except the kept ones. `leave_work` releases all and deletes the
 * workers.
 */
const leaveFunction = `
  create function perdure.free_work(workers text[], kept text[])
  returns table (workspace text, session text, seq bigint) language sql as $function$
    update perdure.work w
    set ready = true, visible_at = clock_timestamp(), worker = null, machine = null, process = null, process_start = null
    from (
      select own.workspace, own.session from perdure.work own
      where own.worker = any(workers) and own.workspace || '/' || own.session <> all(kept)
      order by own.workspace, own.session for update
    ) own
    where w.workspace = own.workspace and w.session = own.session
    returning w.workspace, w.session, w.seq;
  $function$;

  create function perdure.leave_work(gone text[])
  returns table (workspace text, session text, seq bigint) language sql as $function$
    delete from perdure.workers where worker = any(gone);
    select * from perdure.free_work(gone, '{}');
  $function$;
`;

/**
 * Plans are made once, so they must not depend on the table size at that time. JIT is off, because estimates would
 * trigger needless compilation.
 */
const settings =
  'set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off';

/**
 * Whether a live worker serves this workspace and agent. If a place is given, the worker must be at that place and
 * have capacity left.
 */
const servedFunction = `
  create function perdure.is_served(whose text, tenant text, at_place text, moment timestamptz)
  returns boolean language plpgsql stable as $function$
  begin
    return exists (
      select from perdure.workers o
      where not o.draining and o.lost_at > moment and coalesce(o.only_workspace, tenant) = tenant
        and (whose = '' or whose = any(o.agents))
        and (at_place is null or (o.place = at_place and o.concurrency > (
          select count(*) from perdure.work h where h.worker = o.worker and h.visible_at > moment
        )))
    );
  end
  $function$;
`;

/** The workspaces that have work for the agent, at most `most`. Starts after `since` and wraps around to it. */
const walkFunction = `
  create function perdure.walk_workspaces(whose text, since text, most integer)
  returns table (workspace text, place bigint) language plpgsql stable rows 16 as $function$
  #variable_conflict use_column
  begin
    return query with recursive walk(workspace, place, is_round) as (
      select since collate "C", 0::bigint, false
      union all
      select next.workspace, walk.place + 1, walk.is_round or next.is_round
      from walk cross join lateral (
        (select w.workspace, false as is_round from perdure.work w
         where w.ready and w.agent = whose and w.workspace > walk.workspace
         order by w.agent, w.workspace, w.priority desc, w.visible_at limit 1)
        union all
        (select w.workspace, true from perdure.work w
         where w.ready and w.agent = whose and not walk.is_round
         order by w.agent, w.workspace, w.priority desc, w.visible_at limit 1)
        limit 1
      ) next
      where walk.place < most and not ((walk.is_round or next.is_round) and next.workspace > since)
    )
    select workspace, place from walk where place > 0;
  end
  $function$;
`;

const isForMe = `w.worker is distinct from me ->> 'worker' and (
  w.place is null or w.place = here or w.visible_at <= moment - interval '${preferMs} milliseconds'
  or not perdure.is_served(w.agent, w.workspace, w.place, moment)
)`;

/**
 * Claims work in rounds, until it has enough or nothing is left. Each round visits at most 64 more workspaces. A lock
 * serializes claims, so that shares and limits are exact and no two claims compete for a row.
 */
const claimFunction = `
  create function perdure.claim_work(asked jsonb) returns jsonb language plpgsql ${settings} as $function$
  declare
    me jsonb := asked -> 'holder';
    tenant text := asked ->> 'workspace';
    here text := asked ->> 'place';
    sessions text[] := case when asked ? 'sessions'
      then array(select jsonb_array_elements_text(asked -> 'sessions')) end;
    agents text[] := array(select jsonb_array_elements_text(asked -> 'agents')) || array[''];
    per_workspace bigint := asked -> 'limits' -> 'perWorkspace';
    per_agent jsonb := coalesce(asked -> 'limits' -> 'perAgent', '{}');
    held text[] := array(
      select (h ->> 'workspace') || '/' || (h ->> 'session') from jsonb_array_elements(asked -> 'held') h
    );
    gone text[] := array(select jsonb_array_elements_text(asked -> 'gone'));
    stranded_ms double precision := asked -> 'strandedMs';
    lease interval := (asked ->> 'forMs')::double precision * interval '1 millisecond';
    wanted bigint := asked -> 'count';
    cursors jsonb := coalesce(asked -> 'cursors', '{}');
    most constant integer := greatest(8, 64 / cardinality(agents));
    due constant integer := 500;
    moment timestamptz := clock_timestamp();
    promoted bigint;
    passed jsonb;
    offered bigint;
    got jsonb;
    taken jsonb := '[]';
    freed jsonb := '[]';
    neighbours jsonb;
  begin
    if asked ? 'held' then
      perform perdure.free_work(array[me ->> 'worker'], held);
    end if;
    if gone = '{}' and stranded_ms is null
      and not exists (
        select from unnest(agents) a(agent) cross join lateral (
          select from perdure.work w where w.ready and w.agent = a.agent
          order by w.agent, w.workspace, w.priority desc, w.visible_at limit 1
        ) w
      )
      and not exists (
        select from perdure.work w where not w.ready and w.visible_at < 'infinity' and w.visible_at <= moment
        order by w.visible_at limit 1
      )
    then
      wanted := 0;
    else
      perform pg_advisory_xact_lock(7313825672);
    end if;
    if gone <> '{}' then
      select coalesce(jsonb_agg(to_jsonb(f)), '[]') into freed from perdure.leave_work(gone) f;
    end if;
    for round in 1..16 loop
      exit when wanted <= 0;
      moment := clock_timestamp();
      update perdure.work w set ready = true
      from (
        select p.workspace, p.session from perdure.work p where not p.ready and p.visible_at < 'infinity' and p.visible_at <= moment
        order by p.visible_at limit due for update skip locked
      ) p
      where w.workspace = p.workspace and w.session = p.session;
      get diagnostics promoted = row_count;
      with rooms as materialized (
        select a.agent, case when per_agent ? a.agent then (per_agent -> a.agent)::bigint - (
          select count(*) from perdure.work h
          where h.agent = a.agent and not h.ready and h.worker is not null and h.visible_at > moment
        ) else wanted end as room
        from unnest(agents) a(agent) where stranded_ms is null
      ),
      visited as materialized (
        select r.agent, r.room, v.workspace, v.place
        from rooms r
        cross join lateral perdure.walk_workspaces(r.agent, coalesce(cursors ->> r.agent, ''), most) v
        where r.room > 0 and tenant is null and sessions is null
        union all
        select r.agent, r.room, tenant, 0 from rooms r where r.room > 0 and tenant is not null and sessions is null
      ),
      free as materialized (
        select f.* from visited v cross join lateral (
          select w.workspace, w.session, w.agent, w.priority, w.visible_at from perdure.work w
          where w.ready and w.agent = v.agent and w.workspace = v.workspace
            and ${isForMe}
          order by w.priority desc, w.visible_at limit least(wanted, v.room)
        ) f
        union all
        select f.* from unnest(sessions) s(session) cross join lateral (
          select w.workspace, w.session, w.agent, w.priority, w.visible_at from perdure.work w
          where w.workspace = tenant and w.session = s.session and w.ready and w.agent = any(agents)
            and ${isForMe}
          limit 1
        ) f
        where stranded_ms is null
        union all
        select s.* from perdure.stranded_work(agents, tenant, sessions, moment, stranded_ms, wanted) s
        where stranded_ms is not null
      ),
      shares as (
        select f.*, t.held + row_number() over (
          partition by f.workspace order by f.priority desc, f.visible_at, f.session
        ) as share
        from free f join (
          select b.workspace, (
            select count(*) from perdure.work h
            where h.workspace = b.workspace and not h.ready and h.worker is not null and h.visible_at > moment
          ) as held
          from (select distinct workspace from free) b
        ) t on t.workspace = f.workspace
      ),
      allowed as (
        select s.*, row_number() over (partition by s.agent order by s.share, s.visible_at) as place
        from shares s where per_workspace is null or stranded_ms is not null or s.share <= per_workspace
      ),
      picked as (
        select w.workspace, w.session, a.share, a.visible_at from (
          select a.* from allowed a left join rooms r on r.agent = a.agent
          where a.place <= coalesce(r.room, wanted)
          order by a.share, a.visible_at
        ) a cross join lateral (
          select w.workspace, w.session from perdure.work w
          where w.workspace = a.workspace and w.session = a.session and w.ready for update skip locked
        ) w
        limit wanted
      ),
      claimed as (
        update perdure.work w
        set worker = me ->> 'worker', machine = me ->> 'machine', process = (me -> 'process')::bigint,
          process_start = me ->> 'processStart', visible_at = moment + lease, ready = false, lacks_agent = false
        from picked p where w.workspace = p.workspace and w.session = p.session
        returning w.workspace, w.session, w.seq, w.agent, p.share, p.visible_at
      )
      select
        (select coalesce(jsonb_agg(
          jsonb_build_object('workspace', workspace, 'session', session, 'seq', seq, 'agent', agent)
          order by share, visible_at
        ), '[]') from claimed),
        (select count(*) from free),
        (select coalesce(jsonb_object_agg(agent, workspace), '{}') from visited where place = most)
      into got, offered, passed;
      taken := taken || got;
      cursors := cursors || passed;
      wanted := wanted - jsonb_array_length(got);
      exit when promoted < due and passed = '{}' and jsonb_array_length(got) in (0, offered);
    end loop;
    select coalesce(jsonb_agg(distinct jsonb_build_object(
      'worker', worker, 'machine', machine, 'process', process, 'processStart', process_start
    )), '[]') into neighbours
    from perdure.work where machine = me ->> 'machine' and worker <> me ->> 'worker';
    return jsonb_build_object('taken', taken, 'freed', freed, 'neighbours', neighbours, 'cursors', cursors);
  end
  $function$;
`;

/** The oldest waiting work of each agent that no live worker serves. */
const strandedFunction = `
  create function perdure.stranded_work(
    own text[], tenant text, sessions text[], moment timestamptz, stranded_ms double precision, most bigint
  )
  returns table (workspace text, session text, agent text, priority smallint, visible_at timestamptz)
  language plpgsql stable rows 16 as $function$
  #variable_conflict use_column
  begin
    return query with recursive foreigners(agent) as (
      (select w.agent from perdure.work w where w.ready and not w.lacks_agent and w.agent <> ''
       order by w.agent, w.visible_at limit 1)
      union all
      select (
        select w.agent from perdure.work w
        where w.ready and not w.lacks_agent and w.agent <> '' and w.agent > foreigners.agent
        order by w.agent, w.visible_at limit 1
      )
      from foreigners where foreigners.agent is not null
    )
    select oldest.* from foreigners cross join lateral (
      select w.workspace, w.session, w.agent, w.priority, w.visible_at from perdure.work w
      where w.ready and not w.lacks_agent and w.agent <> '' and w.agent = foreigners.agent
        and w.visible_at <= moment - stranded_ms * interval '1 millisecond'
        and (tenant is null and sessions is null or w.workspace = tenant)
        and (sessions is null or w.session = any(sessions))
        and not perdure.is_served(w.agent, w.workspace, null, moment)
      order by w.agent, w.visible_at limit most
    ) oldest
    where foreigners.agent <> all(own) and not perdure.is_served(foreigners.agent, '', null, moment)
    order by oldest.visible_at limit most;
  end
  $function$;
`;

export const workSchema = [
  workTable,
  enterFunction,
  leaveFunction,
  servedFunction,
  walkFunction,
  strandedFunction,
  claimFunction,
].join('');

export const forgetLost = `delete from perdure.workers where lost_at < clock_timestamp() - interval '${forgetMs} milliseconds'`;
