import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../../test/support/servers/http-server.ts';
import { BodyRoom } from './body-room.ts';

const mebibyte = 1024 * 1024;
/** A chunk that is charged a whole number of mebibytes, including its overhead of 512 bytes. */
const mebibytes = (count: number): Uint8Array => new Uint8Array(count * mebibyte - 512);

/** A request that has sent this many mebibytes and stays in progress until the test ends it. */
const holding = (room: BodyRoom, workspace: string, count: number) => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const ended = room.during(workspace, (take) => {
    take(mebibytes(count));
    return promise;
  });
  return { ended, resolve, reject };
};

test('[HTTP15] the bodies of a workspace stay within its limit, and their memory is released however the requests end', async () => {
  const room = new BodyRoom({ workspaceBytes: 10 * mebibyte, serverBytes: 100 * mebibyte });
  const first = holding(room, 'a', 6);
  const second = holding(room, 'a', 4);
  await expect(holding(room, 'a', 1).ended).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    details: { retryAfterSeconds: 1, maxBytes: 10 * mebibyte },
  });
  second.reject(new Error('the client has left'));
  await expect(second.ended).rejects.toThrow('left');
  const third = holding(room, 'a', 4);
  first.resolve();
  await first.ended;
  holding(room, 'a', 6);
  third.resolve();
  await third.ended;
});

test('[HTTP15] all bodies stay within the limit of the server, and a workspace that uses little is not refused because of others', async () => {
  const room = new BodyRoom({ workspaceBytes: 10 * mebibyte, serverBytes: 20 * mebibyte });
  holding(room, 'a', 10);
  const second = holding(room, 'b', 10);
  await expect(holding(room, 'c', 5).ended).rejects.toMatchObject({
    code: 'STORE_BUSY',
    details: { retryAfterSeconds: 1 },
  });
  holding(room, 'c', 4);
  second.resolve();
  await second.ended;
  holding(room, 'c', 5);
});

test('[HTTP15] chunks of one byte are charged their memory overhead too', async () => {
  const room = new BodyRoom({ workspaceBytes: mebibyte, serverBytes: mebibyte });
  const many = room.during('a', async (take) => {
    for (let at = 0; at < 10_000; at++) take(new Uint8Array(1));
  });
  await expect(many).rejects.toMatchObject({ code: 'RATE_LIMITED' });
});

/** An upload whose last byte is never sent. */
const unfinished = ({ server }: TestServer, session: string, key: string, size: number): ClientRequest => {
  const asked = httpRequest(`${server.url}${session}/files/content?path=held.txt`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-length': size + 1 },
  });
  asked.on('error', () => {});
  asked.write(Buffer.alloc(size));
  return asked;
};

test('[HTTP15] unfinished uploads that reach the limit of a workspace make its further requests fail with Retry-After, and other workspaces are unaffected', async () => {
  const server = await startTestServer({ bodies: { workspaceBytes: 2 * mebibyte, serverBytes: 8 * mebibyte } });
  const open = async (key: string) => (await server.json('/v1/sessions', { method: 'POST', body: {}, key })).id;
  const session = `/v1/sessions/${await open(server.keys.member)}`;
  const foreign = `/v1/sessions/${await open(server.foreignKeys.member)}`;
  const write = (path: string, key: string) =>
    fetch(`${server.server.url}${path}/files/content?path=other.txt`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}` },
      body: new Uint8Array(mebibyte),
    });
  const held = [1, 2].map(() => unfinished(server, session, server.keys.member, 1.5 * mebibyte));
  const [refused] = await Promise.race(held.map((each) => once(each, 'response') as Promise<[IncomingMessage]>));
  expect(refused).toMatchObject({ statusCode: 429, headers: { 'retry-after': '1' } });
  expect((await write(foreign, server.foreignKeys.member)).status).toBe(200);
  for (const each of held) each.destroy();
  const again = async () => (await write(session, server.keys.admin)).status;
  await expect.poll(again, { timeout: 15_000 }).toBe(200);
});

test('[HTTP15] a JSON body is charged to the limit like raw bytes', async () => {
  const { ask } = await startTestServer({ bodies: { workspaceBytes: 100_000, serverBytes: mebibyte } });
  const open = (title: string) => ask('/v1/sessions', { method: 'POST', body: { title } });
  expect((await open('x'.repeat(200_000))).status).toBe(429);
  expect((await open('x')).status).toBe(201);
});

test('[HTTP6] a file over 32 MiB is refused before it is read', async () => {
  const server = await startTestServer();
  const { id } = await server.json('/v1/sessions', { method: 'POST', body: {} });
  const asked = httpRequest(`${server.server.url}/v1/sessions/${id}/files/content?path=large.txt`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${server.keys.member}`, 'content-length': 32 * mebibyte + 1 },
  });
  asked.on('error', () => {});
  asked.flushHeaders();
  const [response] = await once(asked, 'response');
  expect(response.statusCode).toBe(413);
  asked.destroy();
});
