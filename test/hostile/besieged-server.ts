import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { ServeOptions } from '../../src/servers/http/index.ts';
import { operationsOf, type SampleRoute } from '../support/servers/api-samples.ts';
import { startTestServer, type TestServer } from '../support/servers/http-server.ts';
import { newSqliteFile } from '../support/stores/sqlite-file.ts';
import { type HostileRequest, hostileRequests } from './hostile-requests.ts';
import { storeImage } from './store-image.ts';

/**
 * The status of an answer, `closed` if the server ended the connection, or `hangs`. `closed` is acceptable too,
 * because the client does not wait.
 */
export type Outcome = number | 'closed' | 'hangs';

export interface BesiegedServer extends TestServer {
  readonly routes: readonly SampleRoute[];
  /** Path of a session that has at least one of everything that can be changed. */
  readonly session: string;
  readonly openStreams: () => number;
  requestsFor(route: SampleRoute): readonly HostileRequest[];
  send(request: HostileRequest): Promise<Outcome>;
  /** Fails if anything was written since the start, or if an internal error or a warning occurred. */
  expectUntouched(): Promise<void>;
}

const patienceMs = 10_000;

const outcomeOf = (port: number, agent: Agent, { method, target, headers, body }: HostileRequest): Promise<Outcome> =>
  new Promise((resolve) => {
    // Node sends requests such as DELETE without a length unless the header is set.
    const length = body !== undefined && { 'content-length': String(Buffer.byteLength(body)) };
    const asked = httpRequest({
      host: '127.0.0.1',
      port,
      method,
      path: target,
      headers: { ...length, ...headers },
      agent,
    });
    const timer = setTimeout(() => end('hangs'), patienceMs);
    const end = (outcome: Outcome): void => {
      clearTimeout(timer);
      resolve(outcome);
      if (outcome === 'hangs') asked.destroy();
    };
    let answer: Outcome = 'closed';
    asked.on('response', (response: IncomingMessage) => {
      answer = response.statusCode!;
      // An event stream never ends, so only its status is read.
      if (response.headers['content-type'] === 'text/event-stream') asked.destroy();
      response.resume();
      response.on('close', () => end(answer));
    });
    asked.on('error', () => end(answer));
    asked.on('close', () => end(answer));
    if (body !== undefined) asked.write(body);
    // When a request promises more bytes than it sends, the server must answer without waiting for them.
    if (headers['content-length'] === undefined) asked.end();
  });

const fill = async ({ json, ask }: TestServer) => {
  const { id: session } = await json('/v1/sessions', { method: 'POST', body: { agent: { name: 'tester' } } });
  const path = `/v1/sessions/${session}`;
  const { run } = await json(`${path}/runs`, { method: 'POST', body: { input: 'Hello' } });
  await json(`${path}/runs/${run}?wait=true`);
  await json(`${path}/state`, {
    method: 'PATCH',
    body: { patch: [{ op: 'add', path: '/facts/port', value: 1 }] },
  });
  expect((await ask(`${path}/files/content?path=a.txt`, { method: 'PUT', body: 'content' })).status).toBe(200);
  expect((await ask(`${path}/artifacts/report.txt`, { method: 'PUT', body: 'content' })).status).toBe(200);
  const { key } = await json('/v1/keys', { method: 'POST', body: { role: 'viewer' } });
  return { path, own: { session, run, key: key.id, member: 'the-viewer' } };
};

/** A server with data worth attacking, which records every internal failure and warning. */
export const besiegedServer = async (options: ServeOptions = {}): Promise<BesiegedServer> => {
  const file = newSqliteFile();
  const wrong: unknown[] = [];
  let streams = 0;
  const server = await startTestServer(
    {
      ...options,
      observer: {
        failed: (error) => wrong.push(error),
        streams: (change) => {
          streams += change;
        },
      },
    },
    { store: `sqlite:${file}`, onWarning: (problem) => wrong.push(problem) },
  );
  const note = (warning: unknown): void => {
    wrong.push(warning);
  };
  process.on('warning', note);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => {
    process.off('warning', note);
    agent.destroy();
  });
  const document = await server.json('/v1/openapi.json', { key: '' });
  const { path, own } = await fill(server);
  const before = storeImage(file);
  const port = Number(new URL(server.server.url).port);
  return {
    ...server,
    session: path,
    routes: operationsOf(document),
    openStreams: () => streams,
    requestsFor: (route) => hostileRequests(document, route, { key: server.keys.admin, own }),
    send: (request) => outcomeOf(port, agent, request),
    expectUntouched: async () => {
      expect(wrong).toEqual([]);
      expect(storeImage(file)).toEqual(before);
      expect((await server.ask('/v1/me')).status).toBe(200);
    },
  };
};

export const isRefused = (outcome: Outcome): boolean =>
  outcome === 'closed' || (typeof outcome === 'number' && outcome >= 400 && outcome < 500);
