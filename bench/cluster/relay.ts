/** A bare server that forwards PostgreSQL notifications to its followers. Argument: the database's address. */
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import pg from 'pg';
import { answer } from './program.ts';

const client = new pg.Client(process.argv[2]!);
await client.connect();
await client.query('listen bare');
const app = new Hono();
app.get('/events', (context) =>
  streamSSE(context, async (stream) => {
    client.on('notification', ({ payload }) => {
      void stream.writeSSE({ id: payload!, event: 'message', data: `{"seq":${payload}}` });
    });
    await stream.writeSSE({ id: '0', data: '' });
    await new Promise(() => {});
  }),
);
const server = createAdaptorServer({ fetch: app.fetch });
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
answer(() => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
