import { expect, test } from 'vitest';
import { startTestServer, testAgent } from '../../test/support/servers/http-server.ts';
import type { ScopedRuntime } from '../core/runtime/scoped-runtime.ts';
import type { PerdureError } from '../schema/error.ts';
import type { RunPart } from '../schema/run-part.ts';
import { type Client, connect } from './index.ts';
import { sessionAfar } from './session.ts';
import { transportTo } from './transport.ts';

const changing = new Set([
  'at',
  'createdAt',
  'updatedAt',
  'addedAt',
  'requestedAt',
  'durationMs',
  'activeMs',
  'admittedAt',
  'startedAt',
  'endedAt',
  'worker',
  'hash',
  'workspace',
]);
const sameEverywhere = (_: string, value: unknown): unknown => {
  if (typeof value === 'string') {
    return value
      .replace(/\b(ses|run|msg|apr|key|aud|call)_(?:[0-9a-z]{26}|s1_1_\w+)/g, '$1')
      .replace(/\bworkspace (?:local|other)\b/g, 'this workspace')
      .replace(/\b[0-9a-f]{64}\b/g, 'hash')
      .replace(/\b\d{13}\b/g, 'time');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, changing.has(name) ? '…' : each]));
};
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'it did not fail',
    ({ code, message, details }: PerdureError) => ({ code, message, details }),
  );

/** Calls every verb in a fixed order and records the results, with the values that differ between runs replaced. */
const scenario = async (runtime: ScopedRuntime | Client): Promise<readonly unknown[]> => {
  const results: unknown[] = [];
  const record = async (name: string, value: unknown): Promise<void> => {
    const text = JSON.stringify(await value, sameEverywhere);
    results.push([name, text === undefined ? undefined : JSON.parse(text)]);
  };
  const { sessions } = runtime;
  const session = await sessions.open({ title: 'One', metadata: { ticket: 'OPS-1' }, budget: { turns: 50 } });
  await record(
    'append',
    session.append({ role: 'user', content: 'What does the test expect?' }, { idempotencyKey: 'a' }),
  );
  await record('append twice', session.append([{ role: 'assistant', content: 'A port.' }]));
  await record('update', session.update({ title: 'Two' }));
  await record('summary', session.summary());
  await record('commit', session.commit([{ op: 'add', path: '/facts/port', value: 8080 }], { why: 'it says so' }));
  await record(
    'commit by a function',
    session.commit((draft) => {
      draft.facts.port = 8081;
      draft.plan['a/b~c'] = { step: 'test', status: 'todo', order: 1 };
    }),
  );
  await record(
    'commit of nothing',
    session.commit(() => undefined),
  );
  await record('no commit', session.commit([]));
  await record('state', session.state());
  await record('state then', session.state({ at: { turn: 0 } }));
  await record('lift', session.lift('/facts/port', { to: 'verified', why: 'looked' }));
  await record(
    'commits',
    session.commits({ last: { turns: 5 }, path: '/facts/**', provenance: ['human', 'verified'] }),
  );
  await record('commits of turns', session.commits({ turns: { from: 0, to: 9 }, since: new Date(0), limit: 2 }));
  await record('all commits', sessions.commits({ path: '/facts/port', since: 0 }));
  const [newest] = (await session.commits({ limit: 1, path: '/plan/**' })).commits;
  await record('revert', session.revert(newest!.seq, { why: 'not yet' }));
  await record('pin', session.pin('port'));
  await record('unpin', session.unpin('port'));
  await record('context', session.context({ maxTokens: 5000 }));
  await record('transcript', session.transcript({ lastTurns: 1 }));
  await record('events', Array.fromAsync(session.events({ after: 2 })));
  await record('events up to a point', Array.fromAsync(session.events({ at: { turn: 1 } })));
  await record('write', session.files.write('src/a.txt', 'one\n', { mode: 0o755, expect: null, why: 'a start' }));
  await record(
    'write again',
    session.files.write('src/a.txt', new TextEncoder().encode('two\n'), { idempotencyKey: 'w' }),
  );
  await record('list', session.files.list());
  await record('list a folder', session.files.list({ path: 'src' }));
  await record('read', Array.from(await session.files.read('src/a.txt')));
  const { seq } = await session.summary();
  await record('diff of files', session.files.diff({ seq: seq - 1 }, { session: session.id }));
  await record('changes of files', session.files.changes({ seq: seq - 1 }, { session: session.id, seq }));
  await record('history', session.files.history('src/a.txt', { limit: 5 }));
  await record('restore, dry', session.files.restore({ seq: seq - 1 }, { dryRun: true }));
  await record('restore', session.files.restore({ seq: seq - 1 }, { paths: ['src/a.txt'], why: 'back' }));
  await record('keep', session.artifacts.keep('report (1) + a.md', '# Report\n'));
  await record('keep a file', session.artifacts.keep('a.txt', { path: 'src/a.txt' }, { mediaType: 'text/x' }));
  await record('artifacts', session.artifacts.list());
  await record('artifact', Array.from(await session.artifacts.read('report (1) + a.md')));
  await record('delete', session.files.delete('src/a.txt', { why: 'done' }));
  const fork = await session.fork({ at: { turn: 1 }, title: 'Fork' });
  await fork.commit([{ op: 'add', path: '/facts/host', value: 'here' }]);
  await record('diff', session.diff({ turn: 1 }, { session: fork.id }));
  const paged = await session.diff({ turn: 0 }, { session: fork.id }, { content: true, limit: 1 });
  await record('diff, first page', Promise.resolve(paged));
  const next = { content: true, limit: 1, cursor: paged.cursor };
  await record('diff, next page', session.diff({ turn: 0 }, { session: fork.id }, next));
  await record('compare', session.compare([{ turn: 1 }, { session: fork.id }]));
  await record('adopt', session.adopt(fork.id, { onConflict: 'theirs' }));
  await record('trace', session.trace('/facts/host', { depth: 5 }));
  await record('happened', session.happened());
  await record('happened beyond', session.happened({ after: { turn: 0 } }));
  await record('tree', session.tree());
  await record('rewind', session.rewind({ to: { turn: 1 }, reason: 'again' }));
  await record('retry', session.retry({ turn: 1 }));
  await record('attempts', session.attempts());
  await record('state of an attempt', session.state({ at: { turn: 1, attempt: 1 } }));
  await record('compact', session.compact({ keepTurns: 1 }));
  await record('verify', session.verify({ quick: true }));
  await record('pause', session.pause({ reason: 'lunch' }));
  await record('resume', session.resume());
  await record('handoff', session.handoff({ to: 'human', reason: 'look' }));
  await record('handoff back', session.handoff({ to: 'agent' }));
  await record('limit', session.limit({ turns: 60 }, { reason: 'more' }));
  await record('usage', session.usage());
  await record('bind', session.bind(testAgent));
  const run = await session.send('Say hello', { idempotencyKey: 's', policy: 'queue' });
  await record('result', run.result());
  await record('waitForEnd', run.waitForEnd());
  await record('status', (await session.run(run.id)).status());
  await record('events of a run', Array.fromAsync(run.events()));
  await session.send('Later', { notBefore: 4_000_000_000_000 });
  await record('inputs', session.inputs());
  await record('rewind of what waits', session.rewind({ to: { seq: (await session.summary()).seq } }));
  await record('no inputs', session.inputs());
  await session.send('Later', { notBefore: 4_000_000_000_000 });
  const again = await session.retry({ turn: (await session.summary()).turn });
  await record('retry of what waits', again.cancelled);
  await again.run!.waitForEnd();
  await record('toolCalls', session.toolCalls({ tool: 'echo', status: 'ok' }));
  await record('all calls', sessions.toolCalls({ run: run.id }));
  await record('calls with inputs', session.toolCalls({ input: true, limit: 2 }));
  await record('runs', session.runs({ limit: 2 }));
  await record('all runs', sessions.runs({ since: new Date(0), status: ['succeeded', 'failed'] }));
  await record('cancel of nothing', session.cancel());
  await record('replay', (await session.replay({ turn: (await session.summary()).turn })).departures);
  await record('close', session.close({ reason: 'over' }));
  await record('archive', session.archive());
  await record('unarchived', session.unarchive());
  await record('reopen', session.reopen());
  await record('approvals', runtime.approvals.list());
  await record('agents', runtime.agents.list());
  await record('all usage', runtime.usage({ by: 'month', until: 9e12 }));
  await record('usage by agent', runtime.usage({ by: 'agent', session: session.id }));
  await record('a wrong grouping', failureOf(runtime.usage({ by: 'week' as never })));
  await record('gc', runtime.gc({ dryRun: true, graceMs: 0 }));
  await record('no such session', failureOf(sessions.get('ses_01jd3v8m9k5x7q2w4e6r8t0y1a')));
  await record('no session at all', failureOf(sessions.get('nonsense')));
  await record('no such point', failureOf(session.state({ at: { turn: 99 } })));
  await record('no such file', failureOf(session.files.read('nothing')));
  await record('wrong state', failureOf(session.commit([{ op: 'add', path: '/plan/a', value: 7 }])));
  await record('illegal', failureOf(session.archive()));
  return results;
};

test('[CLIENT2] the same calls return the same results and the same errors over a server as in the library', async () => {
  const { server, keys, runtime } = await startTestServer();
  const other = runtime.as({ workspace: 'other', member: 'the-admin', role: 'admin' });
  await other.worker({ pollMs: 200 }).start();
  const afar = await scenario(connect({ url: server.url, key: keys.admin }));
  const here = await scenario(other);
  expect(afar).toEqual(here);
  expect(afar.length).toBeGreaterThan(70);
}, 120_000);

test('[CLIENT2] a client of a server can list, export and import sessions and manage members, keys and the audit log', async () => {
  const { server, keys, foreignKeys } = await startTestServer();
  const client = connect({ url: `${server.url}/`, key: keys.admin });
  const [one, two] = [await client.sessions.open({ title: 'One' }), await client.sessions.open({ agent: 'tester' })];
  await one.files.write('a.txt', 'content');
  const first = await client.sessions.list({ limit: 1, status: 'open' });
  const next = await client.sessions.list({ limit: 1, cursor: first.cursor });
  expect([...first.sessions, ...next.sessions].map(({ id }) => id)).toEqual([one.id, two.id]);
  expect(await client.usage({ since: new Date(0), limit: 2 })).toMatchObject({ by: 'session', total: { calls: 0 } });
  const elsewhere = connect({ url: server.url, key: foreignKeys.admin });
  expect((await elsewhere.sessions.import(client.sessions.export([one.id, two.id]))).sessions).toHaveLength(2);
  expect((await elsewhere.sessions.import(one.export())).sessions).toEqual([{ session: one.id, added: 0 }]);
  expect(Buffer.from(await (await elsewhere.sessions.get(one.id)).files.read('a.txt')).toString()).toBe('content');
  await expect(Array.fromAsync(client.sessions.export(['ses_01jd3v8m9k5x7q2w4e6r8t0y1a']))).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  });
  expect(await client.sessions.rebuildProjections()).toBeGreaterThan(1);

  expect(await client.members.me()).toMatchObject({ member: 'the-admin', role: 'admin' });
  await client.members.add({ id: 'ann', role: 'viewer', profile: { name: 'Ann' } });
  await client.members.change('ann', { role: 'member' });
  expect(await client.members.list()).toContainEqual(expect.objectContaining({ id: 'ann', role: 'member' }));
  const made = await client.keys.create({ member: 'ann', areas: ['sessions'] });
  const ann = connect({ url: server.url, key: made.token });
  await expect(ann.keys.list()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const { token } = await client.keys.rotate(made.key.id);
  await expect(ann.sessions.list()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect((await connect({ url: server.url, key: token }).sessions.list()).sessions).toHaveLength(2);
  expect(await client.keys.revoke(made.key.id)).toMatchObject({ revokedAt: expect.any(Number) });
  await client.members.remove('ann');
  const { entries } = await client.audit.list({ limit: 3 });
  expect(entries.map(({ verb }) => verb)).toEqual(['audit.list', 'members.remove', 'keys.revoke']);
}, 60_000);

test('[CLIENT2] a client of a server can manage secrets and webhooks', async () => {
  const { server, keys } = await startTestServer();
  const { vault, webhooks } = connect({ url: server.url, key: keys.admin });
  const value = 'a value that must not leak';
  expect(await vault.set('github', value, { about: 'issues' })).toMatchObject({ name: 'github', about: 'issues' });
  expect(await vault.list()).toMatchObject([{ name: 'github' }]);
  expect(await vault.rotate()).toEqual({ secrets: 1 });
  await vault.remove('github');
  await expect(vault.remove('github')).rejects.toMatchObject({ code: 'SECRET_NOT_FOUND' });
  const { webhook, secret } = await webhooks.add({ url: 'https://hooks.example.org/a', events: ['run.ended'] });
  expect(secret).toMatch(/^whsec_/);
  expect(await webhooks.change(webhook.id, { enabled: false })).toMatchObject({
    id: webhook.id,
    disabledAt: expect.any(Number),
  });
  expect((await webhooks.rotate(webhook.id)).secret).not.toBe(secret);
  expect(await webhooks.list()).toMatchObject([{ id: webhook.id }]);
  expect((await webhooks.deliveries(webhook.id, { limit: 5 })).deliveries).toEqual([]);
  await expect(webhooks.redeliver('nothing')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await webhooks.remove(webhook.id);
  await expect(webhooks.test(webhook.id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
}, 60_000);

test('[CLIENT1, CLIENT17] verbs that only work where the store is fail with advice, and invalid addresses and keys are rejected', async () => {
  const key = 'pdk_local.key.secret';
  const client = connect({ url: 'http://127.0.0.1:9', key });
  const open = client.sessions.open({ files: { from: '.' } });
  await expect(open).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('open({ files })'),
  });
  expect(() => client.worker()).toThrow('worker does not work over a server');
  const session = sessionAfar(
    transportTo({ url: 'http://127.0.0.1:9', key }),
    'ses_01jd3v8m9k5x7q2w4e6r8t0y1a' as never,
  );
  await expect(session.track({})).rejects.toThrow('track does not work over a server: use beginCall');
  await expect(session.files.copyTo('folder')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(session.compact({ summarize: () => 'short' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(session.replay({ turn: 1, model: {} })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  for (const url of ['perdure.example.org', 'ftp://a', 'http://user:word@host', 'http://host/?a', 'http://host/#a']) {
    expect(() => connect({ url, key })).toThrow('the server address is not valid: give one such as https://');
  }
  for (const wrong of ['', 'secret', 'pdk_a\r\nhost: b', 'pdk_ä']) {
    expect(() => connect({ url: 'http://host', key: wrong })).toThrow(
      /^the API key is not valid: it must begin with pdk_/,
    );
  }
});

test('[CLIENT7] a commit function runs again when the state has changed, so that no concurrent commit is lost', async () => {
  const { server, keys } = await startTestServer();
  const { sessions } = connect({ url: server.url, key: keys.member });
  const session = await sessions.open();
  await session.commit([{ op: 'add', path: '/facts/count', value: 0 }]);
  const add = () =>
    session.commit((draft) => {
      draft.facts.count = Number(draft.facts.count) + 1;
    });
  await Promise.all(Array.from({ length: 8 }, add));
  expect((await session.state()).facts.count).toBe(8);
  const wrong = session.commit(async () => undefined);
  await expect(wrong).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  let runs = 0;
  const never = session.commit(
    (draft) => {
      draft.facts.count = -1;
      runs++;
    },
    { onState: 'another' },
  );
  await expect(never).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  expect(runs).toBe(1);
}, 60_000);

test('[CLIENT4] a client can follow a session, its commits, a run and the workspace', async () => {
  const { server, keys, runtime } = await startTestServer();
  const client = connect({ url: server.url, key: keys.member });
  const leaving = new AbortController();
  const hints = client.changes({ after: Date.now(), signal: leaving.signal });
  const hinted = hints.next();
  const session = await client.sessions.open({ agent: testAgent });
  expect((await hinted).value).toMatchObject({ session: session.id });
  const commits = session.watchCommits({ path: '/facts/*', signal: leaving.signal });
  const events = session.events({ after: 1, follow: true, signal: leaving.signal });
  const committed = commits.next();
  const run = await session.send('Hello');
  const seen: string[] = [];
  for await (const event of run.events()) seen.push(event.type);
  expect(seen.slice(-1)).toEqual(['run.ended']);
  expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
  const branch = await session.fork({ at: { turn: 0 } });
  const leftBehind: string[] = [];
  for await (const event of (await branch.run(run.id)).events({ after: 0 })) leftBehind.push(event.type);
  expect(leftBehind).toEqual(['input.admitted', 'session.forked']);
  const again = await session.send('Hello');
  const parts = await Array.fromAsync(again.stream());
  expect(parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe('Done.');
  expect(parts.at(-1)).toMatchObject({ type: 'end', result: { status: 'succeeded', output: 'Done.' } });
  await again.waitForEnd();
  await (await runtime.sessions.get(session.id)).commit([{ op: 'add', path: '/facts/port', value: 1 }]);
  const [here] = (await (await runtime.sessions.get(session.id)).commits({ path: '/facts/**' })).commits;
  expect((await committed).value).toEqual(JSON.parse(JSON.stringify(here)));
  const newest = (await session.summary()).seq;
  const followed: number[] = [];
  for await (const { seq } of events) {
    followed.push(seq);
    if (seq === newest) leaving.abort(); // ends the stream without an error
  }
  expect(followed).toEqual(Array.from({ length: newest - 1 }, (_, index) => index + 2));
  expect(await commits.next()).toMatchObject({ done: true });
  const waiting = session.events({ after: newest, follow: true });
  const step = waiting.next();
  await waiting.return();
  expect(await step).toMatchObject({ done: true });
  await expect(run.waitForEnd({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
}, 60_000);

/** A `fetch` that breaks the connection of every run stream after one event. */
const breaking = () => {
  let connections = 0;
  const breakingFetch: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (!/\/runs\/[^/]+\/(events|stream)/.test(String(request[0]))) return response;
    connections++;
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        const text = decoder.decode(value, { stream: true });
        const begin = text.search(/^id: /m);
        if (begin < 0) return controller.enqueue(value);
        controller.enqueue(new TextEncoder().encode(text.slice(0, text.indexOf('\n\n', begin) + 2)));
        await reader.cancel();
        controller.error(new Error('cut'));
      },
    });
    return new Response(body, response);
  };
  return { fetch: breakingFetch, connections: () => connections };
};

test('[CLIENT4, CLIENT18, RUN22] a run and an input that joined it are read to their end despite broken connections, and a reader that starts after the end returns immediately', async () => {
  const { server, keys, runtime } = await startTestServer({}, {}, { hasWorker: false });
  const broken = breaking();
  const client = connect({ url: server.url, key: keys.member, fetch: broken.fetch });
  const session = await client.sessions.open({ agent: testAgent });
  const run = await session.send('Hello');
  const joining = await session.send('faster', { policy: 'steer' });
  await runtime.worker({ pollMs: 200 }).start();
  await joining.waitForEnd();
  const here = await runtime.sessions.get(session.id);
  for (const { id, events } of [joining, run]) {
    const all = await Array.fromAsync((await here.run(id)).events());
    expect(all.at(-1)).toMatchObject({ type: 'run.ended', run: run.id });
    expect((await Array.fromAsync(events())).map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq));
    const { seq } = await session.summary();
    expect(await Array.fromAsync(events({ after: seq }))).toEqual([]);
  }
  expect(broken.connections()).toBeGreaterThan(10);
}, 60_000);

test('[CLIENT4, RUN31, RUN32] the stream of a run yields each logged part once and repeats no piece, wherever the connection breaks', async () => {
  const { server, keys, runtime } = await startTestServer();
  const broken = breaking();
  const client = connect({ url: server.url, key: keys.member, fetch: broken.fetch });
  const session = await client.sessions.open({ agent: testAgent });
  const run = await session.send('Hello');
  const parts = await Array.fromAsync(run.stream());
  const here = await Array.fromAsync((await (await runtime.sessions.get(session.id)).run(run.id)).stream());
  const kept = (all: readonly RunPart[]) => JSON.parse(JSON.stringify(all.filter((part) => 'seq' in part)));
  expect(kept(parts)).toEqual(kept(here));
  expect(parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe('Done.');
  const last = parts.at(-1) as Extract<RunPart, { seq: number }>;
  expect(await Array.fromAsync(run.stream({ after: last.seq }))).toEqual([]);
  expect(broken.connections()).toBeGreaterThan(4);
}, 60_000);
