import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import pg from 'pg';
import type { MessageInput, SessionEvent } from '../../src/index.ts';
import type { serveHttp } from '../../src/servers/http/index.ts';
import { BareRows } from '../bare-rows.ts';
import type { Bench } from '../bench-case.ts';
import { hopFigures } from '../cases/server.ts';
import { Client } from '../client.ts';
import type { BareLoop } from '../engines/engine.ts';
import type { Figure } from '../figure.ts';
import { Program } from './program.ts';
import { onStage, type Stage } from './stage.ts';

const nanosPerMs = 1e6;
const rate = { perSecond: 1e6, burst: 1e6 };
/** When this process was notified of each commit, by seq. */
type Committed = Map<number, bigint>;

/** A writer that inserts the rows it receives and notifies the listeners. */
const bareWriter = async (loop: BareLoop, client: pg.Client, committed: Committed) => {
  const rows = new BareRows();
  const app = new Hono();
  app.post('/messages', async (context) => {
    const { messages } = (await context.req.json()) as { messages: readonly [MessageInput] };
    const row = rows.rowOf('ses_bare', messages[0]);
    await loop.insert([row]);
    committed.set(row.seq, process.hrtime.bigint());
    await client.query(`select pg_notify('bare', $1)`, [String(row.seq)]);
    return context.json({ seq: row.seq }, 201);
  });
  const server = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
};

const compare = async (stage: Stage, committed: { ours: Committed; bare: Committed }): Promise<readonly Figure[]> => {
  const { library, place, runtime, data, quick } = stage;
  const http = (await import(new URL('./servers/http/index.js', library.url).href)) as { serveHttp: typeof serveHttp };
  const loop = await place.openBare();
  const notifier = new pg.Client(place.address);
  await notifier.connect();
  const near = {
    ours: await http.serveHttp(runtime, { rate }),
    bare: await bareWriter(loop, notifier, committed.bare),
  };
  const far = {
    ours: await Program.start<'url', string>('./serve.ts', [library.url, place.address, data]),
    bare: await Program.start<'url', string>('./relay.ts', [place.address]),
  };
  const session = await runtime.sessions.open();
  const { token } = await runtime.keys.create();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sides = {
    ours: {
      to: `${near.ours.url}/v1/sessions/${session.id}/messages`,
      from: `${await far.ours.ask('url')}/v1/sessions/${session.id}/events`,
      before: (await session.summary()).seq,
      times: [] as number[],
    },
    bare: {
      to: `${near.bare.url}/messages`,
      from: `${await far.bare.ask('url')}/events`,
      before: 0,
      times: [] as number[],
    },
  };
  const client = new Client();
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Are you there?' }] });
  for (const { from, before } of Object.values(sides)) {
    const first = client.seen(from, before);
    client.follow({ url: from, headers });
    await first;
  }
  for (let round = 1; round <= (quick ? 50 : 300); round++) {
    for (const side of ['ours', 'bare'] as const) {
      const { to, from, before, times } = sides[side];
      await pause(5 + 10 * Math.random());
      const arrives = client.seen(from, before + round);
      await client.timeOf({ url: to, method: 'POST', headers, body, count: 1, atOnce: 1 });
      times.push(Number((await arrives) - committed[side].get(before + round)!) / nanosPerMs);
    }
  }
  await client.close();
  await Promise.all([far.ours.end(), far.bare.end(), near.ours.stop()]);
  near.bare.close();
  await notifier.end();
  await loop.close();
  const times = { ours: sides.ours.times, bare: sides.bare.times };
  return hopFigures('event committed by one server to client of another', 'bare LISTEN/NOTIFY to a bare stream', times);
};

/**
 * Measures the time from a commit on one server to its frame reaching a client that follows on a server in another
 * process.
 */
export const delivery = (bench: Bench): Promise<readonly Figure[]> => {
  const committed = { ours: new Map<number, bigint>(), bare: new Map<number, bigint>() };
  const onAppended = (events: readonly SessionEvent[]): void => {
    for (const { seq } of events) committed.ours.set(seq, process.hrtime.bigint());
  };
  return onStage(bench, { onAppended }, (stage) => compare(stage, committed));
};
