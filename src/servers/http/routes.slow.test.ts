import { expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../../test/support/servers/http-server.ts';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { unbounded } from '../../../test/support/stores/unbounded.ts';
import { EventPage } from '../../schema/views/event.ts';
import { StateView } from '../../schema/views/session.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { bytes } from './route.ts';
import { routes } from './routes/index.ts';

const post = (body: unknown = {}) => ({ method: 'POST', body });

const openSession = async ({ json }: TestServer, body: unknown = {}): Promise<string> =>
  `/v1/sessions/${(await json('/v1/sessions', post(body))).id}`;

const runOnce = async (server: TestServer, session: string, input = 'Go') => {
  const { run } = await server.json(`${session}/runs`, post({ input }));
  return server.json(`${session}/runs/${run}?wait=true`);
};

test('[HTTP1] a session can be opened, described, listed and driven by an external loop', async () => {
  const server = await startTestServer();
  const { json } = server;
  const session = await openSession(server, { title: 'First', metadata: { team: 'a' } });
  const { events } = await json(
    `${session}/messages`,
    post({
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi.' },
      ],
    }),
  );
  expect(events).toHaveLength(2);
  await json(session, { method: 'PATCH', body: { title: 'Second' } });
  expect(await json(session)).toMatchObject({ title: 'Second', messages: 2, status: 'active' });
  const { sessions } = await json('/v1/sessions?status=active&status=open&limit=10');
  expect(sessions).toHaveLength(1);
  const { entries } = await json(`${session}/transcript`);
  expect(entries.map(({ message }: { message: { role: string } }) => message.role)).toEqual(['user', 'assistant']);
  expect(await json(`${session}/context`)).toMatchObject({ from: expect.any(Number) });
  expect(await json(`${session}/verify`)).toMatchObject({ ok: true });
  expect(await json(`${session}/tree`)).toMatchObject({ forks: [] });
});

test('[HTTP1] an input starts a run that can be read, awaited and followed', async () => {
  const server = await startTestServer();
  const { json, ask } = server;
  const session = await openSession(server, { agent: { name: 'tester' } });
  const result = await runOnce(server, session);
  expect(result).toMatchObject({ status: 'succeeded', output: 'Done.' });
  expect(await json(`${session}/runs/${result.run}`)).toMatchObject({ status: 'succeeded' });
  const text = await (await ask(`${session}/runs/${result.run}/events`)).text();
  expect(text).toContain('event: run.ended');
  const { calls } = await json(`${session}/tool-calls?tool=echo&lastTurns=1`);
  expect(calls).toMatchObject([{ tool: 'echo', status: 'ok' }]);
  expect((await json('/v1/tool-calls?status=ok')).calls).toHaveLength(1);
  expect((await json(`${session}/tool-calls?input=true`)).calls).toMatchObject([
    { input: { text: 'hello' }, output: { text: 'hello' } },
  ]);
  const { runs } = await json(`${session}/runs?limit=1`);
  expect(runs).toMatchObject([
    { run: result.run, status: 'succeeded', agent: { name: 'tester', version: 1 }, tools: ['echo'], attempts: 1 },
  ]);
  expect(await json('/v1/runs')).toEqual({ runs, damaged: [] });
  expect(await json('/v1/runs?status=failed&since=0')).toEqual({ runs: [], damaged: [] });
  expect(await json(`${session}/usage`)).toMatchObject({ spent: { turns: 1 } });
  expect(await json('/v1/usage?by=agent')).toMatchObject({ by: 'agent', total: { calls: 2 } });
  expect((await json('/v1/agents')).agents).toMatchObject([{ name: 'tester', tools: [{ name: 'echo' }] }]);
});

test('[HTTP1, HTTP19] the state can be read by ETag, patched, compared and reverted', async () => {
  const server = await startTestServer();
  const { json, ask } = server;
  const session = await openSession(server);
  const before = await ask(`${session}/state`);
  const etag = before.headers.get('etag')!;
  expect((await ask(`${session}/state`, { headers: { 'if-none-match': etag } })).status).toBe(304);
  const patch = { patch: [{ op: 'add', path: '/facts/port', value: 8080 }], why: 'because' };
  const change = { method: 'PATCH', body: patch, headers: { 'if-match': etag } };
  const { commit } = await json(`${session}/state`, change);
  expect(commit).toMatchObject({ entries: ['/facts/port'], why: 'because' });
  expect((await ask(`${session}/state`, change)).status).toBe(412);
  expect(StateView.parse(await json(`${session}/state`))).toMatchObject({ facts: { port: 8080 } });
  expect(EventPage.parse(await json(`${session}/events?follow=false`))).toMatchObject({ more: false });
  expect((await json(`${session}/commits?path=/facts/*`)).commits).toHaveLength(1);
  expect((await json('/v1/commits')).commits).toHaveLength(1);
  expect(await json(`${session}/diff?from=seq:1&to=seq:${commit.seq}`)).toMatchObject({
    facts: [{ id: 'port', after: 8080 }],
  });
  await json(`${session}/lift`, post({ paths: ['/facts/port'], to: 'verified', why: 'looked' }));
  expect(await json(`${session}/commits/${commit.seq}/revert`, post())).toMatchObject({
    commit: { origin: { kind: 'revert' } },
    files: [],
  });
  const again = { method: 'PATCH', body: { patch: [{ op: 'add', path: '/facts/host', value: 'here' }] } };
  await json(`${session}/state`, again);
  await json(`${session}/pins/host`, { method: 'PUT' });
  expect(await json(`${session}/state`)).toMatchObject({ pins: { host: true } });
  await json(`${session}/pins/host`, { method: 'DELETE' });
  expect(await json(`${session}/compact`, post())).toEqual({});
});

test('[HTTP1] a session can be forked, rewound, adopted, retried, handed over, paused and closed', async () => {
  const server = await startTestServer();
  const { json } = server;
  const session = await openSession(server, { agent: { name: 'tester' } });
  await runOnce(server, session);
  const fork = await json(`${session}/fork`, post({ at: { turn: 1 }, title: 'Other way' }));
  expect(fork).toMatchObject({ parent: session.split('/').at(-1), title: 'Other way' });
  await json(`/v1/sessions/${fork.id}/state`, {
    method: 'PATCH',
    body: { patch: [{ op: 'add', path: '/facts/a', value: 1 }] },
  });
  expect(await json(`${session}/adopt`, post({ branch: fork.id }))).toMatchObject({ adopted: ['/facts/a'] });
  const { run } = await json(`${session}/retry`, post({ turn: 1 }));
  await json(`${session}/runs/${run}?wait=true`);
  expect(await json(`${session}/replay`, post({ turn: 2 }))).toMatchObject({ departures: [] });
  await json(`${session}/rewind`, post({ to: { turn: 0 }, reason: 'again' }));
  expect(await json(`${session}/handoff`, post({ to: 'human' }))).toMatchObject({ holder: 'human' });
  await json(`${session}/handoff`, post({ to: 'agent' }));
  await json(`${session}/limits`, post({ limits: { turns: 50 } }));
  expect(await json(`${session}/cancel`, post())).toEqual({});
  expect(await json(`${session}/bind`, post({ name: 'tester' }))).toMatchObject({ agent: { name: 'tester' } });
  for (const [verb, status] of [
    ['pause', 'paused'],
    ['resume', 'active'],
    ['close', 'closed'],
    ['archive', 'archived'],
    ['unarchive', 'closed'],
    ['reopen', 'active'],
  ]) {
    expect(await json(`${session}/${verb}`, post())).toMatchObject({ status });
  }
});

test('[HTTP1] files can be written, read, compared and restored, and artifacts kept', async () => {
  const server = await startTestServer();
  const { json, ask } = server;
  const session = await openSession(server);
  const put = (text: string) =>
    ask(`${session}/files/content?path=a.txt`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: text,
    });
  const { seq } = (await (await put('one')).json()) as { seq: number };
  await put('two');
  expect(await (await ask(`${session}/files/content?path=a.txt`)).text()).toBe(JSON.stringify('two'));
  expect((await json(`${session}/files`)).files).toMatchObject([{ path: 'a.txt', kind: 'file' }]);
  expect((await json(`${session}/files/history?path=a.txt`)).versions).toHaveLength(2);
  const now = (await json(session)).seq;
  expect((await json(`${session}/files/diff?from=seq:${seq}&to=seq:${now}`)).unified).toContain('+"two"');
  expect((await json(`${session}/files/changes?from=seq:${seq}&to=seq:${now}`)).changes).toHaveLength(1);
  expect(await json(`${session}/files/restore`, post({ to: { seq }, dryRun: true }))).toMatchObject({
    changes: [{ path: 'a.txt' }],
  });
  await json(`${session}/artifacts/report.txt?path=a.txt`, { method: 'PUT' });
  expect((await json(`${session}/artifacts`)).artifacts).toMatchObject([{ name: 'report.txt' }]);
  const downloaded = await ask(`${session}/artifacts/report.txt`);
  expect(downloaded.headers.get('content-disposition')).toContain('attachment');
  expect(await downloaded.text()).toBe(JSON.stringify('two'));
  await json(`${session}/files/content?path=a.txt`, { method: 'DELETE' });
  expect((await json(`${session}/files`)).files).toEqual([]);
});

test('[HTTP1] a session can be exported and imported again', async () => {
  const server = await startTestServer();
  const { ask, json, runtime } = server;
  const session = await openSession(server);
  const bundle = new Uint8Array(await (await ask(`${session}/export`)).arrayBuffer());
  await runtime.workspaces.add('elsewhere');
  const imported = await fetch(`${server.server.url}/v1/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.foreignKeys.admin}` },
    body: bundle,
  });
  expect(await imported.json()).toMatchObject({ sessions: [{ added: 1 }] });
  expect(await json('/v1/gc', post({ dryRun: true }))).toMatchObject({ removed: { blobs: 0 }, worktrees: [] });
  expect(await json('/v1/rebuild-projections', post())).toMatchObject({ events: expect.any(Number) });
});

test('[HTTP3, HTTP18] a request repeated with its idempotency key is performed once and gets the first answer again', async () => {
  const server = await startTestServer();
  const { json, ask } = server;
  const keyed = (key: string, body: unknown) => ({ ...post(body), headers: { 'idempotency-key': key } });
  const first = await json('/v1/sessions', keyed('k1', { title: 'Once' }));
  expect(await json('/v1/sessions', keyed('k1', { title: 'Once' }))).toEqual(first);
  expect((await ask('/v1/sessions', keyed('k1', { title: 'Twice' }))).status).toBe(422);
  expect((await json('/v1/sessions')).sessions).toHaveLength(1);
  const session = `/v1/sessions/${first.id}`;
  const message = { messages: [{ role: 'user', content: 'Hello' }] };
  const { events } = await json(`${session}/messages`, keyed('k2', message));
  expect((await json(`${session}/messages`, keyed('k2', message))).events).toEqual(events);
  const byAnother = { ...keyed('k2', message), key: server.keys.member };
  expect((await ask(`${session}/messages`, byAnother)).status, 'a key of another member is not shared').toBe(422);
});

test('[HTTP3, HTTP19] idempotency keys also apply to PATCH, PUT and DELETE, and a key is bound to its if-match', async () => {
  const server = await startTestServer();
  const { json, ask } = server;
  const session = await openSession(server);
  const keyed = (method: string, key: string, body?: unknown, headers = {}) => ({
    method,
    body,
    headers: { ...headers, 'idempotency-key': key },
  });
  const removed = keyed('DELETE', 'k1');
  await json('/v1/members', post({ id: 'ada' }));
  for (const _ of ['first', 'again']) expect((await ask('/v1/members/ada', removed)).status).toBe(204);
  const added = { patch: [{ op: 'add', path: '/facts/port', value: 1 }] };
  const { commit } = await json(`${session}/state`, keyed('PATCH', 'k2', added));
  await json(`${session}/state`, { method: 'PATCH', body: { patch: [{ op: 'remove', path: '/facts/port' }] } });
  expect((await json(`${session}/state`, keyed('PATCH', 'k2', added))).commit).toEqual(commit);
  expect((await json(`${session}/state`)).facts).toEqual({});
  const other = keyed('PATCH', 'k2', added, { 'if-match': '"another"' });
  expect((await ask(`${session}/state`, other)).status).toBe(422);
  const put = { method: 'PUT', headers: { 'idempotency-key': 'k3' } };
  const written = await json(`${session}/files/content?path=a.txt`, put);
  expect(await json(`${session}/files/content?path=a.txt`, put)).toEqual(written);
  const gone = keyed('DELETE', 'k4');
  for (const _ of ['first', 'again']) {
    expect((await ask(`${session}/files/content?path=a.txt`, gone)).status).toBe(204);
  }
});

test('[HTTP18, HTTP28] routes whose request or answer contains a secret store no idempotency key, so a repeated request is performed again', async () => {
  const { json, runtime } = await startTestServer();
  const keyed = (method: string, body: unknown = {}) => ({ method, body, headers: { 'idempotency-key': 'k' } });
  const [first, second] = [await json('/v1/keys', keyed('POST')), await json('/v1/keys', keyed('POST'))];
  expect(second.key.id).not.toBe(first.key.id);
  const rotate = `/v1/keys/${first.key.id}/rotate`;
  expect((await json(rotate, keyed('POST'))).token).not.toBe((await json(rotate, keyed('POST'))).token);
  for (const value of ['the first value', 'the second value']) {
    await json('/v1/secrets/github', keyed('PUT', { value }));
  }
  const admin = runtime.as({ workspace: 'local', member: 'the-admin', role: 'admin' });
  expect(await admin.once({ key: 'k', of: 'anything', body: {} }, async () => 'free')).toBe('free');
});

test('[HTTP19] if-none-match matches the current ETag as weak, in a list and as *', async () => {
  const server = await startTestServer();
  const session = await openSession(server);
  const etag = (await server.ask(`${session}/state`)).headers.get('etag')!;
  const statusFor = async (tags: string) =>
    (await server.ask(`${session}/state`, { headers: { 'if-none-match': tags } })).status;
  for (const tags of [`W/${etag}`, `"another", ${etag}`, '*']) expect(await statusFor(tags)).toBe(304);
  expect(await statusFor('"another"')).toBe(200);
});

test('[HTTP16] an error is answered as an RFC 9457 problem, with its code and the next step', async () => {
  const { ask } = await startTestServer();
  const missing = await ask('/v1/sessions/ses_01jd3v8m9k5x7q2w4e6r8t0y1a');
  expect(missing.status).toBe(404);
  expect(missing.headers.get('content-type')).toBe('application/problem+json');
  expect(await missing.json()).toMatchObject({ code: 'SESSION_NOT_FOUND', status: 404, request: expect.any(String) });
  const keyless = await ask('/v1/sessions', { key: '' });
  expect([keyless.status, keyless.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="perdure"']);
  expect((await ask('/v1/sessions', { key: 'pdk_local.x.y' })).status).toBe(401);
  expect((await ask('/v1/nothing')).status).toBe(404);
  expect((await ask('/v1/sessions', { method: 'DELETE' })).status).toBe(405);
  expect((await ask('/v1/sessions?limit=0')).status).toBe(400);
  expect((await ask('/v1/sessions?nonsense=1')).status).toBe(400);
});

test('[HTTP16] an internal error is answered with nothing but the request id under which it is logged', async () => {
  const store = openMemoryStore();
  const defect = new TypeError('row 7 of table sessions is odd');
  const failures: unknown[] = [];
  const { ask } = await startTestServer(
    { observer: { failed: (...failure) => failures.push(failure) } },
    { store: overrideStore(store, { list: () => Promise.reject(defect) }) },
  );
  const answer = await ask('/v1/sessions');
  const request = expect.stringMatching(/^\S+$/);
  const body = (await answer.json()) as { readonly request: string };
  expect([answer.status, body]).toEqual([
    500,
    {
      type: 'urn:perdure:error:DEFECT',
      title: 'DEFECT',
      status: 500,
      detail: 'internal error; search the server log for this request id',
      code: 'DEFECT',
      details: {},
      request,
    },
  ]);
  expect(failures).toEqual([[defect, body.request]]);
});

test('[HTTP7] the routes of members, keys and the audit log check roles and areas', async () => {
  const server = await startTestServer();
  const { json, ask, keys } = server;
  expect(await json('/v1/me')).toMatchObject({ member: 'the-admin', role: 'admin' });
  await json('/v1/members', post({ id: 'ada', role: 'member', profile: { name: 'Ada' } }));
  const { key, token } = await json('/v1/keys', post({ member: 'ada', areas: ['files'] }));
  expect((await ask('/v1/sessions', { key: token })).status).toBe(403);
  expect((await ask('/v1/me', { key: token })).status).toBe(200);
  const session = await openSession(server);
  expect((await ask(`${session}/files`, { key: token })).status).toBe(200);
  const rotated = await json(`/v1/keys/${key.id}/rotate`, post());
  expect((await ask('/v1/me', { key: token })).status).toBe(401);
  await json(`/v1/keys/${key.id}`, { method: 'DELETE' });
  expect((await ask('/v1/me', { key: rotated.token })).status).toBe(401);
  expect((await ask('/v1/keys', { key: keys.viewer })).status).toBe(403);
  await json('/v1/members/ada', { method: 'PATCH', body: { role: 'viewer' } });
  await json('/v1/members/ada', { method: 'DELETE' });
  const { entries } = await json('/v1/audit?limit=100');
  const entryTexts = entries.map(({ verb, member, outcome }: Record<string, string>) => `${member} ${verb} ${outcome}`);
  expect(entryTexts).toContain('the-viewer keys.list FORBIDDEN');
  expect(entryTexts).toContain('the-admin keys.rotate done');
});

test('[HTTP1] secrets can be set, listed by name and removed, and no answer contains a value', async () => {
  const { json, ask, server, keys } = await startTestServer();
  const value = 'a-value-that-nobody-may-see';
  const answers = [
    await json('/v1/secrets/github', { method: 'PUT', body: { value, about: 'for issues' } }),
    await json('/v1/secrets'),
    await json('/v1/secrets/rotate', post()),
    await json('/v1/audit'),
  ];
  expect(answers[1]).toMatchObject({ secrets: [{ name: 'github', about: 'for issues' }] });
  expect(JSON.stringify(answers)).not.toContain(value);
  const unquoted = await fetch(`${server.url}/v1/secrets/github`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${keys.admin}`, 'content-type': 'application/json' },
    body: `{"value": ${value}}`,
  });
  expect(unquoted.status).toBe(400);
  expect(await unquoted.text()).not.toContain(value.slice(0, 8));
  await json('/v1/secrets/github', { method: 'DELETE' });
  expect((await ask('/v1/secrets/github', { method: 'DELETE' })).status).toBe(404);
});

test('[HTTP1] an invalid input or message is reported with its path in the body', async () => {
  const server = await startTestServer({}, {}, { hasWorker: false });
  const session = await openSession(server, { agent: { name: 'tester' } });
  const detailOf = async (route: string, body: unknown) => {
    const answer = await server.ask(`${session}/${route}`, post(body));
    expect(answer.status).toBe(400);
    return ((await answer.json()) as { detail: string }).detail;
  };
  const message = (written: unknown) => detailOf('messages', { messages: [written] });
  expect(await detailOf('runs', { input: [{ type: 'text', txt: 'x' }] })).toMatch(
    /input\.0\.text: .*expected string.*input\.0: Unrecognized key: "txt"/,
  );
  expect(await detailOf('runs', { input: [{ type: 'txt' }] })).toMatch(/input\.0\.type: .*'text' \| 'file'/);
  expect(await detailOf('runs', { input: 5 })).toContain('input: expected text, or a list of parts');
  expect(await message({ role: 'usr', content: 'x' })).toMatch(/messages\.0\.role: .*'user'/);
  expect(await message('x')).toContain('messages.0: expected { role, content }');
  expect(await message({ role: 'user', content: [{ type: 'txt' }] })).toMatch(
    /messages\.0\.content\.0\.type: .*'text'/,
  );
});

test('[IN6] every list and record in a body stops validating after its first invalid entries', () => {
  const found = routes.flatMap(({ name, body }) => (body && body !== bytes ? unbounded(body as never, name) : []));
  expect(found).toEqual([]);
});

test.for([
  ['as many as a body allows', 499_000, 400],
  ['sixteen megabytes', 8_000_000, 413],
] as const)(
  '[IN6, HTTP6] a list of invalid entries, %s, is refused at once with a short answer',
  async ([, length, status]) => {
    const server = await startTestServer();
    const session = await openSession(server);
    const wrong = Array.from({ length }, () => 0);
    for (const messages of [wrong, [{ role: 'user', content: wrong }]]) {
      const response = await server.ask(`${session}/messages`, post({ messages }));
      expect(response.status).toBe(status);
      expect((await response.text()).length).toBeLessThan(2000);
    }
  },
);
