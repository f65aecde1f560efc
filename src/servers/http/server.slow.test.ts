import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startTestServer, type TestServer } from '../../../test/support/servers/http-server.ts';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { newSqliteFile } from '../../../test/support/stores/sqlite-file.ts';
import type { RuntimeStore } from '../../core/ports/runtime-store.ts';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../index.ts';
import { PerdureError } from '../../schema/error.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { serveHttp } from './server.ts';

const openSession = async ({ json }: TestServer, body: unknown = {}): Promise<string> =>
  `/v1/sessions/${(await json('/v1/sessions', { method: 'POST', body })).id}`;

const say = ({ json }: TestServer, session: string, content: string) =>
  json(`${session}/messages`, { method: 'POST', body: { messages: [{ role: 'user', content }] } });

async function* framesOf(response: Response): AsyncGenerator<Record<string, string>> {
  let rest = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
    rest += chunk;
    const blocks = rest.split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const fields = block
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
      yield Object.fromEntries(fields);
    }
  }
}

/** Returns the next event, without frames that only keep the connection open. Returns undefined at the end. */
const nextEvent = async (
  frames: AsyncGenerator<Record<string, string>>,
): Promise<Record<string, string> | undefined> => {
  for (;;) {
    const { value, done } = await frames.next();
    if (done || value.id !== undefined) return value;
  }
};

test('[HTTP8] a reader that reconnects with its last id misses no event and gets none twice', async () => {
  const server = await startTestServer();
  const session = await openSession(server);
  for (const text of ['a', 'b', 'c']) await say(server, session, text);
  const seen: number[] = [];
  for (let last = ''; seen.length < 6; ) {
    const leaving = new AbortController();
    const headers = last === '' ? {} : { 'last-event-id': last };
    const response = await server.ask(`${session}/events`, { headers, signal: leaving.signal });
    if (seen.length === 2) await say(server, session, 'd');
    if (seen.length === 4) await say(server, session, 'e');
    let taken = 0;
    for await (const { id } of framesOf(response)) {
      if (id === undefined) continue;
      seen.push(Number(id));
      last = id;
      if (++taken === 2) break;
    }
    leaving.abort();
  }
  expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
});

test('[HTTP8] a read without follow returns one page of JSON, or a stream that ends', async () => {
  const server = await startTestServer();
  const session = await openSession(server);
  for (const text of ['a', 'b', 'c']) await say(server, session, text);
  const page = await server.json(`${session}/events?follow=false&limit=2`);
  expect(page).toMatchObject({ after: 2, more: true });
  const next = await server.json(`${session}/events?follow=false&after=${page.after}`);
  expect(next).toMatchObject({ after: 4, more: false });
  const stream = await server.ask(`${session}/events?follow=false`, { headers: { accept: 'text/event-stream' } });
  expect((await stream.text()).match(/^id: /gm)).toHaveLength(4);
});

test('[HTTP8] resuming after an event that does not exist is refused instead of waiting for it', async () => {
  const server = await startTestServer();
  const session = await openSession(server, { agent: { name: 'tester' } });
  const { run } = await server.json(`${session}/runs`, { method: 'POST', body: { input: 'Go' } });
  await server.json(`${session}/runs/${run}?wait=true`);
  const { seq } = await server.json(session);
  const refused = { status: 404, code: 'POINT_NOT_FOUND', detail: expect.stringContaining(`it has ${seq} events`) };
  for (const path of [`${session}/events`, `${session}/runs/${run}/events`]) {
    const headers = { 'last-event-id': String(seq + 1) };
    expect(await (await server.ask(path, { headers })).json()).toMatchObject(refused);
    expect(await (await server.ask(`${path}?after=${seq + 1}`)).json()).toMatchObject(refused);
  }
  expect(await (await server.ask(`${session}/events?follow=false&after=${seq + 1}`)).json()).toMatchObject(refused);
  expect(await server.json(`${session}/events?follow=false&after=${seq}`)).toMatchObject({ events: [], after: seq });
  const { status } = await server.ask(`/v1/events?after=${Date.now() + 3_600_000}`);
  expect(status).toBe(400);
});

test('[HTTP22, RUN22] the stream of a run ends with an end frame, also for a reader that connects after the run has ended', async () => {
  const server = await startTestServer();
  const session = await openSession(server, { agent: { name: 'tester' } });
  const { run } = await server.json(`${session}/runs`, { method: 'POST', body: { input: 'Go' } });
  const read = async (query = '') => {
    const text = await (await server.ask(`${session}/runs/${run}/events${query}`)).text();
    return text.replaceAll(': beat\n\n', ''); // a slow machine has time for one
  };
  const end = 'event: end\ndata: {}\n\n';
  expect(await read()).toMatch(new RegExp(`event: run\\.ended\\n.*\\n\\n${end}$`));
  const { seq } = await server.json(session);
  expect(await read(`?after=${seq}`)).toBe(`: open\n\n${end}`);
});

test('[HTTP16] an unsupported method is answered with the supported ones in Allow', async () => {
  const { ask } = await startTestServer();
  const allowed = async (method: string, path: string) => {
    const { status, headers } = await ask(path, { method });
    return [status, headers.get('allow')];
  };
  expect(await allowed('PUT', '/v1/sessions')).toEqual([405, 'GET, HEAD, POST']);
  expect(await allowed('GET', '/v1/secrets/rotate')).toEqual([405, 'PUT, DELETE, POST']);
  expect(await allowed('DELETE', '/v1/docs')).toEqual([405, 'GET, HEAD']);
  expect(await allowed('POST', '/')).toEqual([405, 'GET, HEAD']);
  expect(await allowed('PUT', '/v1/session')).toEqual([404, null]);
  expect(await allowed('OPTIONS', '/v1/sessions')).toEqual([204, 'GET, HEAD, POST']);
  expect(await allowed('OPTIONS', '/v1/session')).toEqual([204, null]);
});

test('[HTTP9] a stream ends soon after its key is revoked', async () => {
  const server = await startTestServer();
  const session = await openSession(server);
  const { key, token } = await server.json('/v1/keys', { method: 'POST', body: { role: 'viewer' } });
  const frames = framesOf(await server.ask(`${session}/events`, { key: token }));
  expect((await nextEvent(frames))?.event).toBe('session.opened');
  await server.json(`/v1/keys/${key.id}`, { method: 'DELETE' });
  expect(await nextEvent(frames)).toBeUndefined();
});

test('[HTTP9] when their key is revoked, an export in progress is cut off and an import is refused', async () => {
  const server = await startTestServer({ beatMs: 1 });
  const { runtime, json, ask } = server;
  const session = await openSession(server);
  const { files } = await runtime.sessions.get(session.split('/').at(-1)!);
  for (const name of ['a', 'b', 'c']) await files.write(name, randomBytes(16 * 1024 * 1024));
  const bundle = new Uint8Array(await (await ask(`${session}/export`)).arrayBuffer());
  const newKey = () => json('/v1/keys', { method: 'POST', body: {} });
  for (const path of [`${session}/export`, `/v1/export?session=${session.split('/').at(-1)}`]) {
    const { key, token } = await newKey();
    const response = await ask(path, { key: token });
    const reader = response.body!.getReader();
    await reader.read();
    await json(`/v1/keys/${key.id}`, { method: 'DELETE' });
    const all = async () => {
      while (!(await reader.read()).done);
    };
    await expect(all()).rejects.toThrow();
  }
  const { key, token } = await newKey();
  const parts = async function* () {
    yield bundle.subarray(0, 1000);
    await json(`/v1/keys/${key.id}`, { method: 'DELETE' });
    yield bundle.subarray(1000);
  };
  const answer = await fetch(`${server.server.url}/v1/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: ReadableStream.from(parts()) as never,
    duplex: 'half',
  });
  expect(answer.status).toBe(401);
});

test('[HTTP17] an export that cannot be completed is answered with an error, or cut off once it has begun', async () => {
  const failures: unknown[] = [];
  const file = newSqliteFile();
  const server = await startTestServer(
    { observer: { failed: (error) => failures.push(error) } },
    { store: `sqlite:${file}` },
  );
  const damage = (statement: string): void => {
    const database = new DatabaseSync(file);
    database.exec(statement);
    database.close();
  };
  const session = await openSession(server);
  const { files } = await server.runtime.sessions.get(session.split('/').at(-1)!);
  for (const name of ['a', 'b', 'c']) await files.write(name, randomBytes(16 * 1024 * 1024));
  const begun = await server.ask(`${session}/export`);
  expect(begun.status).toBe(200);
  const reader = begun.body!.getReader();
  await reader.read();
  damage('DELETE FROM blobs');
  const all = async () => {
    while (!(await reader.read()).done);
  };
  await expect(all()).rejects.toThrow();
  expect(failures).toMatchObject([{ code: 'EVENT_DAMAGED' }]);
  damage("UPDATE events SET payload = x'ff00', encoding = 0 WHERE seq = 1");
  const answer = await server.ask(`${session}/export`);
  expect(await answer.json()).toMatchObject({ status: 500, code: 'EVENT_DAMAGED' });
});

/** Starts a run and waits for it with a separate key. The run continues until `working` resolves. */
const startWaiting = async (store?: RuntimeStore) => {
  const working = Promise.withResolvers<string>();
  const tool = defineTool({ name: 'wait', input: z.object({}), execute: () => working.promise });
  const script = defineScript({ name: 'slow', steps: [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'Done.' }] });
  const agent = defineAgent({ name: 'slow', version: 1, model: script, tools: [tool] });
  const server = await startTestServer({}, { agents: [agent], ...(store && { store }) });
  const { json, ask } = server;
  const { token, key } = await json('/v1/keys', { method: 'POST', body: {} });
  const session = await openSession(server, { agent: { name: 'slow' } });
  const { run } = await json(`${session}/runs`, { method: 'POST', body: { input: 'Go' } });
  const waiting = ask(`${session}/runs/${run}?wait=true`, { key: token }).finally(() => working.resolve('ok'));
  return { server, key, run, waiting };
};

test('[HTTP9] a wait for a run is answered with 401 and no content when its key is revoked', async () => {
  const { server, key, run, waiting } = await startWaiting();
  await server.json(`/v1/keys/${key.id}`, { method: 'DELETE' });
  const answer = await waiting;
  expect(answer.status).toBe(401);
  expect(await answer.text()).not.toContain(run);
});

test('[HTTP24] a wait is answered with 503, not 401, while the store cannot check the key', async () => {
  const store = openMemoryStore();
  let isBusy = false;
  const record: RuntimeStore['record'] = async (...asked) => {
    if (isBusy) throw new PerdureError('STORE_BUSY', 'all connections are in use');
    return store.record(...asked);
  };
  const { server, waiting } = await startWaiting(overrideStore(store, { record }));
  await server.json('/v1/me');
  isBusy = true;
  const answer = await waiting;
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ code: 'STORE_BUSY' });
});

test('[HTTP10] a server that stops ends its streams and completes requests in progress', async () => {
  const server = await startTestServer();
  const session = await openSession(server);
  const frames = framesOf(await server.ask(`${session}/events`));
  expect((await nextEvent(frames))?.event).toBe('session.opened');
  const underWay = httpRequest(`${server.server.url}${session}/files/content?path=late.txt`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${server.keys.member}`, expect: '100-continue' },
  });
  const answered = once(underWay, 'response');
  underWay.flushHeaders();
  await once(underWay, 'continue');
  const stopped = server.server.stop();
  underWay.end('late');
  const [response] = (await answered) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  await stopped;
  expect(await nextEvent(frames)).toBeUndefined();
  await expect(server.ask(session)).rejects.toThrow();
});

test('[HTTP1] the pages say which version, store and agents the server has, without a script and without a key', async () => {
  const { ask } = await startTestServer({ store: 'sqlite:somewhere' });
  for (const path of ['/', '/v1/docs']) {
    const page = await ask(path, { key: '' });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const text = await page.text();
    expect(text).toContain('Perdure');
    expect(text).not.toContain('<script');
  }
  const home = await (await ask('/', { key: '' })).text();
  expect(home).toMatch(/<code>api-key<\/code> of the server's data folder.*<code>perdure keys create<\/code>/);
  const docs = await (await ask('/v1/docs', { key: '' })).text();
  expect(docs.replace(/<pre>[\s\S]*?<\/pre>/g, '')).not.toContain('`');
  expect(docs).toMatch(/with <code>wait<\/code>,.*needs the role viewer/);
  expect(docs).toContain(
    'Allows the call; the decision is final <span class="quiet">· needs a member whose role the approval',
  );
  expect(docs).toContain('curl -s -H');
  expect((await ask('/healthz', { key: '' })).status).toBe(200);
  expect((await ask('/readyz', { key: '' })).status).toBe(200);
});

test('[HTTP4, HTTP29] every answer forbids sniffing, framing and reading by other sites', async () => {
  const { ask } = await startTestServer();
  for (const path of ['/', '/v1/me', '/v1/nothing']) {
    const { headers } = await ask(path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  }
});

test('[HTTP10] a server whose store is closed is alive but not ready', async () => {
  const { ask, runtime } = await startTestServer();
  await runtime.close();
  expect((await ask('/healthz', { key: '' })).status).toBe(200);
  const answer = await ask('/readyz', { key: '' });
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({
    ok: false,
    problems: [{ part: 'store', problem: 'the store does not answer (RUNTIME_CLOSED)' }],
  });
});

test('[PROBE2] a server whose vault cannot be opened is not ready, and says so without naming the workspace', async () => {
  const database = newMemoryDatabase();
  const key = (fill: number) => Buffer.alloc(32, fill).toString('base64');
  const before = await openRuntime({ store: openMemoryStore(database), masterKey: key(1), worker: false });
  await before.vault.set('token', 'a long secret value');
  await before.close();
  const runtime = await openRuntime({ store: openMemoryStore(database), masterKey: key(2), worker: false });
  const server = await serveHttp(runtime);
  onTestFinished(async () => {
    await server.stop();
    await runtime.close();
  });
  const answer = await fetch(`${server.url}/readyz`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({
    ok: false,
    problems: [
      { part: 'vault', problem: expect.stringMatching(/^a vault cannot be opened \(VAULT_LOCKED\): .*master key/) },
    ],
  });
});

test('[PROBE1] probes are answered under any host name, metrics only if they were opened, and nothing else', async () => {
  const statusOf = async (url: string, path: string, headers: Record<string, string> = {}) => {
    const request = httpRequest(`${url}${path}`, { headers: { host: '10.1.2.3:4730', ...headers } }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  const options = { allowHosts: ['perdure.example.org'] };
  const [shut, open] = [await startTestServer(options), await startTestServer({ ...options, metricsOnAnyHost: true })];
  for (const { server } of [shut, open]) {
    expect(await statusOf(server.url, '/healthz')).toBe(200);
    expect(await statusOf(server.url, '/readyz?verbose')).toBe(200);
    expect(await statusOf(server.url, '/healthz', { origin: 'https://evil.example' })).toBe(403);
    for (const path of ['/', '/v1/me', '/v1/docs', '/healthz/', '/v1/healthz'])
      expect(await statusOf(server.url, path), path).toBe(403);
  }
  expect(await statusOf(shut.server.url, '/metrics')).toBe(403);
  expect(await statusOf(open.server.url, '/metrics')).toBe(200);
});

test('[PROBE2] a server without a living worker process is not ready, and reports how many are at work', async () => {
  const workers = { count: 2, running: 1 };
  const { ask } = await startTestServer({ workers });
  const ready = async () => (await ask('/readyz', { key: '' })).json();
  expect(await ready()).toEqual({ ok: true, workers: { count: 2, running: 1 } });
  workers.running = 0;
  expect(await ready()).toMatchObject({
    ok: false,
    problems: [{ part: 'worker', problem: 'no worker process of this server is at work' }],
    workers: { count: 2, running: 0 },
  });
});

test('[HTTP20] a key that exceeds its rate gets 429 with Retry-After', async () => {
  const { ask } = await startTestServer({ rate: { perSecond: 1, burst: 3 } });
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => ask('/v1/me')));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('[HTTP6] a body over the limit of its route gets 413, and the server keeps serving', async () => {
  const server = await startTestServer();
  const session = await openSession(server);
  const large = await server.ask(`${session}/fork`, { method: 'POST', body: { title: 'x'.repeat(2_000_000) } });
  expect(large.status).toBe(413);
  expect(await server.json(session)).toMatchObject({ seq: 1 });
});

test('[HTTP4] a server bound to an IPv6 address answers to that host name', async () => {
  const { server } = await startTestServer({ host: '::' });
  const { port } = new URL(server.url);
  const asked = httpRequest({ host: '::1', port, path: '/healthz', headers: { host: `[::]:${port}` } }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(200);
});

test('[AUTH1] wrong keys of one address get 429 after a while and are counted, and an accepted key still works', async () => {
  const outcomes: string[] = [];
  const wrongKeyRate = { perSecond: 0.001, burst: 3 };
  const { ask } = await startTestServer({ wrongKeyRate, observer: { wrongKey: (outcome) => outcomes.push(outcome) } });
  expect((await ask('/v1/me')).status).toBe(200);
  for (const status of [401, 401, 401, 429, 429])
    expect((await ask('/v1/me', { key: 'pdk_local.wrong' })).status).toBe(status);
  expect((await ask('/v1/me')).status).toBe(200);
  expect(outcomes).toEqual(['rejected', 'rejected', 'rejected', 'limited', 'limited']);
});

test('[HTTP37] a transfer encoding besides chunked is refused, and the connection is closed', async () => {
  const { server, keys } = await startTestServer();
  const { hostname, port, host } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const head = `Host: ${host}\r\nAuthorization: Bearer ${keys.admin}\r\n`;
  socket.write(`POST /v1/sessions HTTP/1.1\r\n${head}Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n`);
  socket.write(`GET /v1/me HTTP/1.1\r\n${head}\r\n`);
  const text = (await Array.fromAsync(socket.setEncoding('latin1'))).join('');
  expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)).toEqual(['400']);
});
