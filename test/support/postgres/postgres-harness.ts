import type pg from 'pg';
import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import type { SessionKey } from '../../../src/core/ports/store.ts';
import { payloadDigest } from '../../../src/core/session/events/chain.ts';
import { payloadEncoding } from '../../../src/stores/codec/payload-codec.ts';
import type { StoreHarness } from '../../../src/testing/store-harness.ts';
import { askPostgres } from './ask-postgres.ts';
import type { TestDatabase } from './postgres.ts';

const flipFirst = (column: string) => `set_byte(${column}, 0, get_byte(${column}, 0) # 1)`;

/**
 * The harness for the store contract. `open` opens a store on the database; `close` ends the remaining connections.
 */
export const postgresHarness = (
  database: TestDatabase,
  open: () => Promise<RuntimeStore>,
  close: () => Promise<void> = async () => undefined,
): StoreHarness => {
  /** Runs as the superuser, to whom row-level security does not apply. */
  const ask = <Row extends pg.QueryResultRow>(text: string, ...values: readonly unknown[]) =>
    askPostgres<Row>(database.adminUrl, text, ...values);

  const edit =
    (change: string) =>
    async ({ workspace, session }: SessionKey, seq: number, ...values: unknown[]) => {
      await ask(
        `update perdure.events set ${change} where workspace = $1 and session = $2 and seq = $3`,
        workspace,
        session,
        seq,
        ...values,
      );
    };

  return {
    open,
    destroy: async () => {
      await close();
      await database.drop();
    },
    tamper: {
      changePayload: async (key, seq) => {
        await ask(
          `update perdure.blobs b set bytes = ${flipFirst('b.bytes')} from perdure.events e
         where e.workspace = $1 and e.session = $2 and e.seq = $3 and e.encoding = ${payloadEncoding.blob}
           and b.workspace = e.workspace and b.hash = e.payload`,
          key.workspace,
          key.session,
          seq,
        );
        await edit(
          `payload = case encoding when ${payloadEncoding.blob} then payload else ${flipFirst('payload')} end`,
        )(key, seq);
      },
      changeAt: edit('at = $4'),
      changeTurn: edit('turn = $4'),
      changeHash: edit(`hash = ${flipFirst('hash')}`),
      removeEvent: async ({ workspace, session }, seq) => {
        await ask(
          'delete from perdure.events where workspace = $1 and session = $2 and seq = $3',
          workspace,
          session,
          seq,
        );
      },
      redact: async (key, seq) => {
        const reader = await open();
        const [event] = await reader.read(key, { after: seq - 1, upTo: seq, limit: 1 });
        await reader.close();
        if (event?.body.kind !== 'bytes') throw new Error('nothing to redact');
        const digest = payloadDigest(event.body.salt, event.body.bytes);
        await edit(`salt = null, payload = $4, encoding = ${payloadEncoding.redacted}`)(key, seq, digest);
      },
      removeBlob: async (workspace, hash) => {
        await ask('delete from perdure.blobs where workspace = $1 and hash = $2', workspace, Buffer.from(hash));
      },
      countPieces: async (workspace) => {
        const [row] = await ask<{ count: number }>(
          'select count(*)::int from perdure.blobs where workspace = $1',
          workspace,
        );
        return row!.count;
      },
      ageBlobs: async (workspace, ms) => {
        await ask(
          `update perdure.blobs set put_at = put_at - $2 * interval '1 ms' where workspace = $1`,
          workspace,
          ms,
        );
      },
      projections: (workspace) =>
        Promise.all([
          ask('select * from perdure.commit_paths where workspace = $1 order by session, seq, path', workspace),
          ask('select * from perdure.tool_calls where workspace = $1 order by session, seq', workspace),
          ask('select * from perdure.charges where workspace = $1 order by session, seq', workspace),
          ask(
            'select session, name, value from perdure.session_values where workspace = $1 order by session, name, value',
            workspace,
          ),
          ask(
            'select id, status, updated_at, summary from perdure.sessions where workspace = $1 order by id',
            workspace,
          ),
        ]),
      spoilProjections: async (workspace, summaries) => {
        await ask('delete from perdure.commit_paths where workspace = $1', workspace);
        await ask('delete from perdure.tool_calls where workspace = $1', workspace);
        await ask('delete from perdure.charges where workspace = $1', workspace);
        await ask('delete from perdure.session_values where workspace = $1', workspace);
        await ask(
          `update perdure.sessions set status = 'open', updated_at = 0, summary = ${
            summaries === 'changed' ? `(summary::jsonb || '{"title":"spoiled","messages":99}')::text` : `'spoiled'`
          } where workspace = $1`,
          workspace,
        );
      },
    },
  };
};
