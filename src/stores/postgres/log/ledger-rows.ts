import type pg from 'pg';
import type { LedgerKey, LedgerRow } from '../../../core/ports/ledger.ts';
import { quotaError } from '../../../core/session/quota-refusal.ts';
import type { MemberId, SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { checkImport, type Quotas, quotaOf } from '../../log/check-quotas.ts';
import { type CountedBytes, ledgerKeyName } from '../../log/meter.ts';
import { type DayUsage, LedgerCount } from '../../log/recount-ledger.ts';
import { parseState } from '../../log/stored-summary.ts';
import { exchange, prepared, type Source, type Statement } from '../server/database.ts';

/**
 * The lock that a recount takes alone, and that writers of the ledger share. Writers lock sessions first, then this,
 * then rows of the ledger.
 */
const lockName = (tenant: string): string => `hashtextextended('perdure ledger ' || ${tenant}, 0)`;

/**
 * Enters changes, if the workspace has quotas. If they must be `checked` and have not been, raises PD002, so that the
 * writer reads the quotas and the rows first. Without quotas, writers share nothing but the lock.
 */
export const ledgerFunction = `
  create function perdure.enter_ledger(
    tenant text, checked boolean, members text[], meters text[], periods text[], uses bigint[], reserves bigint[]
  ) returns void language plpgsql as $function$
  begin
    perform pg_advisory_xact_lock_shared(${lockName('tenant')});
    if not exists (select from perdure.records r where r.workspace = tenant and r.kind = 'quota') then
      return;
    end if;
    if checked then
      raise exception 'the workspace has quotas' using errcode = 'PD002';
    end if;
    insert into perdure.ledger as l (workspace, member, meter, period, used, reserved)
    select tenant, n.* from unnest(members, meters, periods, uses, reserves) n(member, meter, period, used, reserved)
    order by n.member collate "C", n.meter collate "C", n.period collate "C"
    on conflict (workspace, member, meter, period) do update
    set used = l.used + excluded.used, reserved = l.reserved + excluded.reserved;
  end
  $function$;
`;

const enter = prepared(
  'enter_ledger',
  'select where perdure.enter_ledger($1, $2, $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[]) is null',
);

const readQuotas = prepared(
  'read_quotas',
  `select id, body from perdure.records where workspace = $1 and kind = 'quota'`,
);
const shareLock = prepared('share_ledger', `select pg_advisory_xact_lock_shared(${lockName('$1')})`);
const takeLock = prepared('lock_ledger', `select pg_advisory_xact_lock(${lockName('$1')})`);

/** Creates missing rows, so that two writers cannot both find none. */
const lockRows = prepared(
  'lock_ledger_rows',
  `insert into perdure.ledger as l (workspace, member, meter, period, used, reserved)
   select $1, k.member, k.meter, k.period, 0, 0 from unnest($2::text[], $3::text[], $4::text[]) k(member, meter, period)
   order by k.member collate "C", k.meter collate "C", k.period collate "C"
   on conflict (workspace, member, meter, period) do update set used = l.used
   returning member, meter, period, used, reserved`,
);

const readRows = prepared(
  'read_ledger',
  `select member, meter, period, used, reserved from perdure.ledger
   where workspace = $1 and period = any($2::text[]) and (used <> 0 or reserved <> 0) order by member, meter, period`,
);

const clear = prepared('clear_ledger', 'delete from perdure.ledger where workspace = $1');

const readStates = prepared(
  'read_states',
  'select id, summary from perdure.sessions where workspace = $1 and id > $2 order by id limit 1000',
);

/** Without the charges of bundles, because their usage happened in another store. */
const usageByDay = prepared(
  'usage_by_day',
  `select coalesce(member, '') as member, to_char(to_timestamp(at / 1000) at time zone 'UTC', 'YYYY-MM-DD') as day,
     sum(input_tokens + output_tokens)::bigint as tokens, sum(floor(coalesce(usd, 0) * 1e6 + 0.5)::bigint)::bigint as micros
   from perdure.charges c where workspace = $1 and child is null and not exists (
     select from perdure.sessions s
     where s.workspace = c.workspace and s.id = c.session and c.seq between s.imported_from and s.imported_to
   )
   group by 1, 2`,
);

const countedBytes = prepared(
  'counted_bytes',
  'select member, sum(size)::bigint as bytes from perdure.blobs where workspace = $1 and counted group by member',
);

export const findQuotas = (workspace: WorkspaceId): pg.QueryConfig => readQuotas(workspace);

export interface QuotaRow {
  readonly id: string;
  readonly body: string;
}

export const quotasIn = (rows: readonly QuotaRow[]): Quotas =>
  new Map(rows.map(({ id, body }) => [id, quotaOf(JSON.parse(body))]));

/** Raises PD002 if the workspace has quotas. Otherwise no quota can be set until the transaction ends. */
export const refuseQuotas = (workspace: WorkspaceId): Statement => enterLedger(workspace, [], true);

/** Keeps the quotas as they are until the transaction ends. */
export const holdQuotas = (workspace: WorkspaceId): Statement => shareLock(workspace);

/** `checked` is whether the quotas have yet to be checked. */
export const enterLedger = (workspace: WorkspaceId, rows: readonly LedgerRow[], checked: boolean): Statement =>
  enter(
    workspace,
    checked,
    rows.map(({ member }) => member),
    rows.map(({ meter }) => meter),
    rows.map(({ period }) => period),
    rows.map(({ used }) => used),
    rows.map(({ reserved }) => reserved),
  );

/** Locks rows of the ledger until the transaction ends. Returns them by name. */
export const lockLedger = async (
  client: pg.Client,
  workspace: WorkspaceId,
  keys: readonly LedgerKey[],
): Promise<Map<string, LedgerRow>> => {
  const unique = [...new Map(keys.map((key) => [ledgerKeyName(key), key])).values()];
  const [, locked] = await exchange(client, [
    shareLock(workspace),
    lockRows(
      workspace,
      unique.map(({ member }) => member),
      unique.map(({ meter }) => meter),
      unique.map(({ period }) => period),
    ),
  ]);
  return new Map(locked!.rows.map((row: LedgerRow) => [ledgerKeyName(row), row]));
};

export const readLedger = (
  source: Source,
  workspace: WorkspaceId,
  periods: readonly string[],
): Promise<readonly LedgerRow[]> => source.read<LedgerRow>(workspace, readRows(workspace, ['', ...periods]));

/** Counts all rows anew, within the open transaction. Removes them if the workspace has no quotas. */
export const recountLedger = async (
  client: pg.Client,
  workspace: WorkspaceId,
): Promise<{ readonly quotas: Quotas; readonly rows: readonly LedgerRow[] }> => {
  const [, found] = await exchange(client, [takeLock(workspace), readQuotas(workspace), clear(workspace)]);
  const quotas = quotasIn(found!.rows);
  if (quotas.size === 0) return { quotas, rows: [] };
  const count = new LedgerCount();
  for (let after: SessionId | '' | undefined = ''; after !== undefined; ) {
    const { rows }: pg.QueryResult<{ id: SessionId; summary: string }> = await client.query(
      readStates(workspace, after),
    );
    for (const { summary } of rows) count.addSession(parseState(summary));
    after = rows.at(-1)?.id;
  }
  const { rows: days } = await client.query<DayUsage>(usageByDay(workspace));
  for (const row of days) count.addUsage(row);
  const { rows: blobs } = await client.query<CountedBytes>(countedBytes(workspace));
  for (const row of blobs) count.addBlobs(row);
  await client.query(enterLedger(workspace, count.rows(), false));
  return { quotas, rows: count.rows() };
};

/** Counts all rows anew after an import. Throws if the workspace or the owner has more than its quota. */
export const recountImport = async (
  client: pg.Client,
  workspace: WorkspaceId,
  owner: MemberId | undefined,
): Promise<void> => {
  const { quotas, rows } = await recountLedger(client, workspace);
  const byName = new Map(rows.map((row) => [ledgerKeyName(row), row]));
  const refusal = checkImport(quotas, owner, (key) => byName.get(ledgerKeyName(key)));
  if (refusal) throw quotaError(workspace, refusal);
};
