import pg from 'pg';
import { byteaArray } from '../../src/stores/postgres/server/bytea-array.ts';

interface EventRow {
  readonly seq: string;
  readonly at: string;
  readonly turn: string;
  readonly opens_turn: boolean;
  readonly run: string;
  readonly type: string;
  readonly version: number;
  readonly actor: string;
  readonly salt: Buffer;
  readonly encoding: number;
  readonly payload: Buffer;
  readonly hash: Buffer;
  readonly transaction: string;
}

/** The rows that a worker wrote for a run, one element for each transaction. */
export type RunRows = readonly (readonly EventRow[])[];

/**
 * Reads the rows of a run. `xmin` identifies the transaction that wrote a row. The first event of the run is the
 * first that the worker writes.
 */
const readRun = `select *, xmin::text as transaction from perdure.events
  where workspace = 'local' and session = $1 and seq >= (
    select min(seq) from perdure.events where workspace = 'local' and session = $1 and type = 'run.started')
  order by seq`;

export const readRunRows = async (store: string, session: string): Promise<RunRows> => {
  const client = new pg.Client({ connectionString: store, options: '-c perdure.workspace=local' });
  await client.connect();
  const { rows } = await client.query<EventRow>(readRun, [session]);
  await client.end();
  return [...Map.groupBy(rows, ({ transaction }) => transaction).values()];
};

const text = `insert into bare_events
  (workspace, session, seq, at, turn, opens_turn, run, type, version, actor, salt, encoding, payload, hash)
  select 'local', $1, * from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[], $6::text[], $7::text[], $8::integer[],
    $9::text[], $10::bytea[], $11::smallint[], $12::bytea[], $13::bytea[])`;

/** Inserts the same rows for another session, in the same number of transactions. */
export const insertRun = async (pool: pg.Pool, session: string, run: RunRows): Promise<void> => {
  for (const rows of run) {
    const values = [
      session,
      rows.map(({ seq }) => seq),
      rows.map(({ at }) => at),
      rows.map(({ turn }) => turn),
      rows.map(({ opens_turn }) => opens_turn),
      rows.map(({ run: id }) => id),
      rows.map(({ type }) => type),
      rows.map(({ version }) => version),
      rows.map(({ actor }) => actor),
      byteaArray(rows.map(({ salt }) => salt)),
      rows.map(({ encoding }) => encoding),
      byteaArray(rows.map(({ payload }) => payload)),
      byteaArray(rows.map(({ hash }) => hash)),
    ];
    await pool.query({ name: 'bare_run', text, values });
  }
};
