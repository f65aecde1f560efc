import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { follow } from './follow.ts';
import { connect } from './index.ts';
import { sessionAfar } from './session.ts';
import { transportTo } from './transport.ts';

const key = 'pdk_local.key_1.a-secret';
const id = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a' as never;

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** Starts a server that answers with the given handler and records its requests. */
const startServer = async (handle: Handler) => {
  const asked: { readonly to: string; readonly headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, response) => {
    asked.push({ to: `${request.method} ${request.url}`, headers: request.headers });
    request.resume();
    void handle(request, response, asked.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, client: connect({ url, key }), session: sessionAfar(transportTo({ url, key }), id) };
};

const json = (response: ServerResponse, value: unknown, status = 200, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
};
const problem = (response: ServerResponse, status: number, code: string, headers = {}): void =>
  json(response, { code, detail: `it is ${code}`, details: { a: 1 } }, status, {
    'content-type': 'application/problem+json',
    ...headers,
  });
const frames = (
  response: ServerResponse,
  ...all: readonly { readonly seq: number; readonly type?: string }[]
): void => {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const each of all) response.write(`id: ${each.seq}\nevent: a\ndata: ${JSON.stringify(each)}\n\n`);
};
const seqsOf = async (events: AsyncIterable<{ readonly seq: number }>, upTo: number): Promise<readonly number[]> => {
  const seqs: number[] = [];
  for await (const { seq } of events) {
    seqs.push(seq);
    if (seq === upTo) break;
  }
  return seqs;
};

test('[CLIENT5] reads and requests with an idempotency key are retried after a broken connection or a 502, 503 or 504, always with the same key', async () => {
  const { client, asked } = await startServer((request, response, count) => {
    if (count === 1) return request.socket.destroy();
    if (count <= 4) return response.writeHead([502, 503, 504][count - 2]!, { 'content-type': 'text/html' }).end('no');
    return json(response, { id });
  });
  expect((await client.sessions.open()).id).toBe(id);
  expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(asked).toHaveLength(5);
  await client.sessions.open();
  expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(2);
});

test('[CLIENT5, KEY5] a retry sends the original body, even if the caller has modified the object since', async () => {
  const bodies: string[] = [];
  const output = { v: 1 };
  const bytes = Buffer.from('one');
  const { session } = await startServer(async (request, response, count) => {
    bodies.push(Buffer.concat(await Array.fromAsync(request)).toString());
    if (count % 2 === 0) return json(response, { events: [] });
    output.v = 2;
    if (count > 2) bytes.fill(0);
    return problem(response, 503, 'STORE_BUSY');
  });
  const part = { type: 'tool-result', callId: 'c', tool: 't', outcome: 'ok', output } as const;
  await session.append({ role: 'tool', content: [part] });
  await session.files.write('a', bytes);
  expect(bodies[0]).toContain('{"v":1}');
  expect(bodies[1]).toBe(bodies[0]);
  expect(bodies.slice(2)).toEqual(['one', 'one']);
});

test('[CLIENT5] an answer that breaks off is requested again, and after too many breaks the client reports SERVER_UNAVAILABLE', async () => {
  const { client } = await startServer((_, response, count) => {
    if (count > 1) return json(response, { sessions: [] });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"sess');
    setTimeout(() => response.destroy(), 20);
  });
  expect(await client.sessions.list()).toEqual({ sessions: [] });
  const dead = await startServer((request) => request.socket.destroy());
  const failed = dead.client.sessions.list();
  await expect(failed).rejects.toMatchObject({ code: 'SERVER_UNAVAILABLE' });
  expect(dead.asked.length).toBeGreaterThan(3);
});

test('[CLIENT5] https to a server that speaks plain HTTP fails with the advice to try http', async () => {
  const { url } = await startServer((_, response) => json(response, { sessions: [] }));
  const secure = url.replace('http:', 'https:');
  const failed = connect({ url: secure, key }).sessions.list();
  await expect(failed).rejects.toMatchObject({
    code: 'SERVER_UNAVAILABLE',
    message: `${secure} does not answer (ERR_SSL_WRONG_VERSION_NUMBER): it does not speak TLS: try ${url}`,
  });
});

test('[CLIENT12, CLIENT13] a change without an idempotency key is sent once, and its error says that the outcome is unknown', async () => {
  const { client, asked } = await startServer((request) => request.socket.destroy());
  const unknown = {
    code: 'SERVER_UNAVAILABLE',
    message: expect.stringContaining('Whether the change was made is unknown: look'),
  };
  await expect(client.keys.create()).rejects.toMatchObject(unknown);
  expect(asked).toHaveLength(1);
});

test('[CLIENT5, CLIENT12] updates and removals are retried under one idempotency key each', async () => {
  const { client, session, asked } = await startServer((request, response, count) => {
    if (count % 2 === 1) return request.socket.destroy();
    return json(response, {});
  });
  await session.commit([{ op: 'add', path: '/facts/a', value: 1 }]);
  await session.update({ title: 'Another' });
  await client.members.change('ann', { role: 'viewer' });
  await client.webhooks.change('whk_1', { enabled: false });
  await client.members.remove('ann');
  await client.keys.revoke('key_1');
  await session.files.delete('a.txt');
  expect(asked).toHaveLength(14);
  const keys = asked.map(({ headers }) => headers['idempotency-key']);
  expect(keys).not.toContain(undefined);
  expect(new Set(keys).size).toBe(7);
});

test('[CLIENT5] an internal error of the server is not retried, but a rate-limited request is retried after Retry-After', async () => {
  const { client, asked } = await startServer((_, response, count) => {
    if (count === 1) return problem(response, 503, 'VAULT_LOCKED');
    if (count === 2) return problem(response, 429, 'RATE_LIMITED', { 'retry-after': '1' });
    if (count === 3) return problem(response, 500, 'DEFECT');
    json(response, { sessions: [] });
  });
  await expect(client.sessions.list()).rejects.toMatchObject({
    code: 'VAULT_LOCKED',
    message: 'it is VAULT_LOCKED',
    details: { a: 1 },
  });
  const began = performance.now();
  await expect(client.keys.create()).rejects.toMatchObject({ code: 'SERVER_FAILED', details: { code: 'DEFECT' } });
  expect(performance.now() - began).toBeGreaterThan(900);
  expect(asked).toHaveLength(3);
});

test('[CLIENT13] a streamed body is sent once, even if the server refused it as too busy before reading it', async () => {
  const { client, asked } = await startServer((_, response) =>
    problem(response, 429, 'RATE_LIMITED', { 'retry-after': '0' }),
  );
  const bundle = async function* () {
    yield Buffer.from('bytes');
  };
  await expect(client.sessions.import(bundle())).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(asked).toHaveLength(1);
});

test('[CLIENT5] a retry whose first attempt is still in progress waits and gets its answer', async () => {
  const { client, asked } = await startServer((request, response, count) => {
    if (count === 1) return request.socket.destroy();
    if (count <= 3) return problem(response, 409, 'KEY_IN_USE');
    json(response, { id });
  });
  expect((await client.sessions.open()).id).toBe(id);
  expect(asked).toHaveLength(4);
  const other = await startServer((_, response) => problem(response, 409, 'KEY_IN_USE'));
  await expect(other.client.sessions.open()).rejects.toMatchObject({ code: 'KEY_IN_USE' });
  expect(other.asked).toHaveLength(1);
});

test('[CLIENT6] the API key is sent only to the configured server, and redirects are not followed', async () => {
  const elsewhere = await startServer((_, response) => json(response, { sessions: [] }));
  const { client, session } = await startServer((_, response) =>
    response.writeHead(307, { location: `${elsewhere.url}/v1/sessions` }).end(),
  );
  const refused = { code: 'SERVER_UNAVAILABLE', message: expect.stringContaining('the key was not sent there') };
  await expect(client.sessions.list()).rejects.toMatchObject(refused);
  await expect(client.sessions.open()).rejects.toMatchObject(refused);
  await expect(seqsOf(session.events({ follow: true }), 1)).rejects.toMatchObject(refused);
  expect(elsewhere.asked).toEqual([]);
});

test('[CLIENT6, CLIENT19] an answer that is not from Perdure is reported without a retry', async () => {
  const { client, session, asked } = await startServer((request, response) => {
    const isJson = request.url?.includes('/usage');
    response.writeHead(200, { 'content-type': isJson ? 'application/json' : 'text/html' }).end('<h1>Welcome</h1>');
  });
  const notPerdure = {
    code: 'SERVER_UNAVAILABLE',
    message: expect.stringMatching(/no Perdure server|unexpected answer/),
  };
  await expect(client.sessions.list()).rejects.toMatchObject(notPerdure);
  await expect(session.usage()).rejects.toMatchObject(notPerdure);
  await expect(session.files.read('a')).rejects.toMatchObject(notPerdure);
  await expect(Array.fromAsync(session.export())).rejects.toMatchObject(notPerdure);
  await expect(seqsOf(session.events({ follow: true }), 1)).rejects.toMatchObject(notPerdure);
  expect(asked).toHaveLength(5);
});

/** Writes the piece again and again, as fast as the client reads, and never ends. */
const flood = (response: ServerResponse, type: string, piece: Buffer): void => {
  response.writeHead(200, { 'content-type': type });
  const go = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', go);
  };
  go();
};

test('[CLIENT6, CLIENT19] an endless answer and an endless frame are abandoned at a limit', async () => {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  const { session } = await startServer((request, response) => {
    const isStream = request.headers.accept === 'text/event-stream';
    flood(response, isStream ? 'text/event-stream' : 'application/json', piece);
  });
  const tooMuch = { code: 'SERVER_UNAVAILABLE', message: expect.stringContaining('larger than') };
  await expect(session.usage()).rejects.toMatchObject(tooMuch);
  await expect(seqsOf(session.events({ follow: true }), 1)).rejects.toMatchObject(tooMuch);
}, 60_000);

test('[CLIENT4] a stream that breaks, even within a frame, resumes after the last whole frame without repeating one', async () => {
  const { promise: isRead, resolve: markRead } = Promise.withResolvers<void>();
  const { session, asked } = await startServer((request, response, count) => {
    if (count === 1) {
      frames(response, { seq: 1 }, { seq: 2 });
      response.write('id: 3\nevent: a\ndata: {"seq":');
      return isRead.then(() => response.destroy());
    }
    if (count === 2) return problem(response, 503, 'STORE_BUSY', { 'retry-after': '0' });
    if (count === 3) return request.socket.destroy();
    if (count === 4) {
      frames(response, { seq: 3 });
      return response.end('event: error\ndata: {"code":"RUNTIME_CLOSED"}\n\n');
    }
    if (count === 5) return response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
    frames(response, { seq: 4 });
  });
  const events = async function* () {
    for await (const event of session.events({ after: 0, follow: true })) {
      if (event.seq === 2) markRead();
      yield event;
    }
  };
  expect(await seqsOf(events(), 4)).toEqual([1, 2, 3, 4]);
  expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '2', '2', '2', '3', '3']);
});

test('[CLIENT11] a stream ends when the server refuses it or reports a damaged log', async () => {
  const { session, asked } = await startServer((_, response, count) => {
    if (count <= 3)
      return problem(
        response,
        [401, 403, 404][count - 1]!,
        ['UNAUTHENTICATED', 'FORBIDDEN', 'SESSION_NOT_FOUND'][count - 1]!,
      );
    frames(response, { seq: 1 });
    response.end('event: error\ndata: {"code":"EVENT_DAMAGED","detail":"event 2 is bad"}\n\n');
  });
  for (const code of ['UNAUTHENTICATED', 'FORBIDDEN', 'SESSION_NOT_FOUND', 'EVENT_DAMAGED']) {
    await expect(seqsOf(session.events({ follow: true }), 9)).rejects.toMatchObject({ code });
  }
  expect(asked).toHaveLength(4);
});

test('[CLIENT11] a stream reconnects when the server falls silent', async () => {
  const { url, asked } = await startServer((_, response, count) => frames(response, { seq: count }));
  const all = follow(transportTo({ url, key }), '/v1/events', { silentMs: 100 });
  const ids: (string | undefined)[] = [];
  for await (const frame of all) if (ids.push(frame.id) === 3) break;
  expect(ids).toEqual(['1', '2', '3']);
  expect(asked[2]?.headers['last-event-id']).toBe('2');
});

test('[CLIENT6] a name that would change the route of a request, such as `..`, is rejected before any request', async () => {
  const { asked, client, session } = await startServer((_, response) => json(response, {}));
  const invalid = { code: 'INVALID_INPUT' };
  await expect(session.cancel('..' as never)).rejects.toMatchObject(invalid);
  await expect(session.unpin('..')).rejects.toMatchObject(invalid);
  await expect(client.approvals.approve('.')).rejects.toMatchObject(invalid);
  await expect(client.members.remove('..')).rejects.toMatchObject(invalid);
  expect(asked).toEqual([]);
});
