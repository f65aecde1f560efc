import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { openSocket, requestFor } from '../hostile/raw-socket.ts';
import { startTestServer, type TestServer } from '../support/servers/http-server.ts';

const mebibyte = 1024 * 1024;
const patience = { timeout: 20_000 };

/** Sends a request whose client stops reading after the beginning of the answer. */
const stalled = async (server: TestServer, path: string): Promise<Socket> => {
  const socket = await openSocket(server.server.url);
  socket.write(requestFor(server, path));
  await once(socket, 'readable');
  return socket;
};

/** Larger than the buffers of a socket, and not compressible. */
const withLargeFile = async (server: TestServer): Promise<string> => {
  const session = await server.runtime.sessions.open();
  await session.files.write('large.bin', randomBytes(8 * mebibyte));
  return `/v1/sessions/${session.id}`;
};

const statusOf = async (server: TestServer, path: string): Promise<number> => {
  const answer = await server.ask(path);
  await answer.body?.cancel();
  return answer.status;
};

test('[HTTP38] large answers that clients do not read are bounded by workspace, and released when they leave', async () => {
  const server = await startTestServer({ bodies: { workspaceBytes: 12 * mebibyte, serverBytes: 64 * mebibyte } });
  const session = await withLargeFile(server);
  const download = `${session}/files/content?path=large.bin`;
  const socket = await stalled(server, download);
  expect(await statusOf(server, download)).toBe(429);
  expect(await statusOf(server, session)).toBe(200);
  socket.destroy();
  await expect.poll(() => statusOf(server, download), patience).toBe(200);
  expect((await server.ask(download)).headers.get('content-length')).toBe(String(8 * mebibyte));
});

test('[HTTP38] an export counts as an open stream until its client has read it or left', async () => {
  const server = await startTestServer({ streamsPerKey: 1 });
  const session = await withLargeFile(server);
  const socket = await stalled(server, `${session}/export`);
  expect(await statusOf(server, `${session}/export`)).toBe(429);
  socket.destroy();
  const read = async () => (await (await server.ask(`${session}/export`)).bytes()).length;
  await expect.poll(read, patience).toBeGreaterThan(mebibyte);
  expect(await read()).toBeGreaterThan(mebibyte);
});
