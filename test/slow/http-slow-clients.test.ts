import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { besiegedServer } from '../hostile/besieged-server.ts';
import { isEnded, openSocket, requestFor } from '../hostile/raw-socket.ts';

const impatient = { headMs: 400, requestMs: 800, stallMs: 400 };

/** Returns a function that finds the server's end of a client socket. The server runs in this process too. */
const serverEnds = (): ((client: Socket) => Socket) => {
  const ends = new Map<number | undefined, Socket>();
  const keep = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    ends.set(socket.remotePort, socket);
  };
  subscribe('net.server.socket', keep);
  onTestFinished(() => void unsubscribe('net.server.socket', keep));
  return ({ localPort }) => ends.get(localPort)!;
};

const asJson = 'Content-Type: application/json\r\n';

test('[HTTP12] a client that sends its request head or body too slowly is disconnected', async () => {
  const server = await besiegedServer({ timeouts: impatient });
  const head = requestFor(server, `${server.session}/messages`, 'POST', `${asJson}Content-Length: 5000\r\n`);
  const drip = async (start: string): Promise<boolean> => {
    const socket = await openSocket(server.server.url);
    socket.resume();
    socket.write(start);
    const dripping = setInterval(() => socket.write('x'), 30);
    const outcome = await isEnded(socket);
    clearInterval(dripping);
    return outcome;
  };
  expect(await Promise.all([drip(''), drip(head.slice(0, -10)), drip(head)])).toEqual([true, true, true]);
  await server.expectUntouched();
});

test('[HTTP12] an endless body is cut off at the limit of its route', async () => {
  const server = await besiegedServer();
  const socket = await openSocket(server.server.url);
  const chunked = `${asJson}Transfer-Encoding: chunked\r\n`;
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    answer += chunk;
  });
  socket.write(requestFor(server, `${server.session}/fork`, 'POST', chunked));
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  const pour = (): void => {
    while (!socket.destroyed && socket.write(chunk));
    if (!socket.destroyed) socket.once('drain', pour);
  };
  pour();
  expect(await isEnded(socket)).toBe(true);
  expect(answer).toContain('HTTP/1.1 413');
  await server.expectUntouched();
});

test('[HTTP12] a client that does not read its response is disconnected', async () => {
  const server = await besiegedServer({ timeouts: impatient });
  const size = 24 * 1024 * 1024;
  const session = await server.runtime.sessions.get(server.session.split('/').at(-1)!);
  await session.files.write('large.txt', new Uint8Array(size).fill(0x78));
  const endOf = serverEnds();
  const socket = await openSocket(server.server.url);
  socket.write(requestFor(server, `${server.session}/files/content?path=large.txt`));
  await once(socket, 'readable');
  expect(await isEnded(endOf(socket))).toBe(true);
  let taken = 0;
  socket.on('data', (chunk: Buffer) => {
    taken += chunk.length;
  });
  expect(await isEnded(socket)).toBe(true);
  expect(taken).toBeLessThan(size);
});

test('[HTTP12, HTTP32] a stream ends when its client does not read, has half-closed, or sent a HEAD request', async () => {
  const server = await besiegedServer({ timeouts: impatient, beatMs: 50 });
  const events = `${server.session}/events`;
  const silent = await openSocket(server.server.url);
  silent.write(requestFor(server, events));
  await expect.poll(server.openStreams).toBe(1);
  const long = { messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }] };
  for (let at = 0; at < 4; at++) await server.json(`${server.session}/messages`, { method: 'POST', body: long });
  await expect.poll(server.openStreams, { timeout: 10_000 }).toBe(0);

  const leaving = await openSocket(server.server.url);
  leaving.write(requestFor(server, events));
  await expect.poll(server.openStreams).toBe(1);
  leaving.resume().end();
  await expect.poll(server.openStreams).toBe(0);

  expect((await server.ask(events, { method: 'HEAD' })).status).toBe(200);
  expect(server.openStreams()).toBe(0);
});

test('[HTTP12] a client that reads everything it receives may stay connected without a limit', async () => {
  const server = await besiegedServer({ timeouts: impatient, beatMs: 50 });
  const leaving = new AbortController();
  const stream = await server.ask(`${server.session}/events`, { signal: leaving.signal });
  const reader = stream.body!.getReader();
  const until = performance.now() + 4 * impatient.stallMs;
  while (performance.now() < until) expect((await reader.read()).done).toBe(false);
  leaving.abort();
});

test('[HTTP12] an idle connection is closed', async () => {
  const server = await besiegedServer({ timeouts: impatient });
  const [unused, used] = [await openSocket(server.server.url), await openSocket(server.server.url)];
  used.resume().write(requestFor(server, '/v1/me'));
  unused.resume();
  expect(await Promise.all([isEnded(unused), isEnded(used)])).toEqual([true, true]);
});
