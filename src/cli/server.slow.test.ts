import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { callCli, recorder } from '../../test/support/cli/call-cli.ts';
import { startTestServer, testAgent } from '../../test/support/servers/http-server.ts';
import { newSqliteFile } from '../../test/support/stores/sqlite-file.ts';
import type { Session } from '../core/runtime/session.ts';
import { defineAgent, defineScript, defineTool, PerdureError, type RuntimeOptions } from '../index.ts';
import { copyHere } from './files/copy-here.ts';
import type { World } from './parse/world.ts';
import { personAt } from './runs/person.ts';

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-server-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

/** Starts a store and a server on it, to run the same command on both. */
const start = async (options: Partial<RuntimeOptions> = {}, working?: { readonly hasWorker: boolean }) => {
  const store = `sqlite:${newSqliteFile()}`;
  const { server, keys, runtime } = await startTestServer({}, { ...options, store }, working);
  const now = () => 2_000_000_000_000;
  const same = Object.assign(Object.create(runtime), { close: async () => {} }) as typeof runtime;
  const openRuntime: World['openRuntime'] = () => Promise.reject(new Error('a store was opened'));
  return {
    keys,
    runtime,
    url: server.url,
    here: (argv: readonly string[]) => callCli([...argv, '--store', store], { now, openRuntime: async () => same }),
    afar: (argv: readonly string[], world: Partial<World> = {}) =>
      callCli([...argv, '--server', server.url], { now, openRuntime, env: { PERDURE_KEY: keys.admin }, ...world }),
  };
};
const typed = (text: string) => ({
  stdin: async function* () {
    yield Buffer.from(text);
  },
});

test('[CLIENT8, CLI7] changes through a server are stored, and every reading command answers as it does on the store', async () => {
  const { here, afar } = await start();
  const folder = await newFolder();
  const file = join(folder, 'main.ts');
  await writeFile(file, 'export {};\n');
  const done = async (...argv: readonly string[]) => {
    const answer = await afar(argv);
    expect(answer).toMatchObject({ code: 0, err: '' });
    return answer.out.trim();
  };
  const id = await done('open', '--title', 'Fix the test', '--metadata', '{"ticket":"OPS-1"}');
  await done('append', id, 'What does the test expect?');
  await done('append', id, '--role', 'assistant', 'A port.');
  await done('commit', id, '--fact', 'port=8080', '--why', 'it says so');
  await done('files', 'put', id, 'src/main.ts', file, '--why', 'a start');
  await done('artifacts', id, '--keep', file, '--name', 'kept.ts');
  const fork = await done('fork', id, '--at', 'turn:1', '--title', 'Another way');
  await done('commit', fork, '--fact', 'host=here');
  await done('adopt', id, fork);
  await done('title', fork, 'A better way');
  await done('close', fork);
  await done('archive', fork);
  await done('pause', id);
  await done('resume', id);
  await done('members', 'add', 'ann', '--role', 'viewer');
  // A server finds a session by its id or a part of it, as a store does.
  for (const named of [id, '-', id.slice(-6), id.slice(4, -1), id.slice(0, -2)]) {
    const summaries = [await afar(['show', named, '--json']), await here(['show', named, '--json'])];
    expect(summaries.map(({ out }) => JSON.parse(out).summary.id)).toEqual([id, id]);
  }
  const readings = [
    ['ls'],
    ['ls', '--all'],
    ['show', id],
    ['show', id, '--at', 'turn:0'],
    ['log', id],
    ['log', id, '--at', 'turn:1', '--after', '1'],
    ['log', id, '--limit', '2'],
    ['log', id, '--commits', '--path', '/facts/**'],
    ['log', '--all', '--commits'],
    ['state', id],
    ['diff', id, '0', '1'],
    ['compare', id, '1'],
    ['tree', id],
    ['calls', id],
    ['usage', id],
    ['usage'],
    ['usage', '--limit', '1'],
    ['verify', id],
    ['verify', '--all'],
    ['files', 'ls', id],
    ['files', 'cat', id, 'src/main.ts'],
    ['files', 'diff', id, '0'],
    ['files', 'history', id, 'src/main.ts'],
    ['files', 'restore', id, '0', '--dry-run'],
    ['artifacts', id],
    ['artifacts', id, 'kept.ts'],
    ['approvals'],
    ['members', 'ls'],
    ['keys', 'ls'],
    ['show', 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a'],
    ['state', id, '--at', 'turn:99'],
    ['files', 'cat', id, 'nothing'],
    ['archive', id],
  ];
  for (const argv of readings) {
    for (const form of [[], ['--json']]) {
      const [one, other] = [await here([...argv, ...form]), await afar([...argv, ...form])];
      expect.soft({ argv, ...other }).toEqual({ argv, ...one });
    }
  }
}, 120_000);

test('[CLIENT8] bundles and files can be downloaded from a server and uploaded to it', async () => {
  const { afar } = await start();
  const folder = await newFolder();
  const id = (await afar(['open'])).out.trim();
  await afar(['files', 'put', id, 'src/run.sh', '-', '--mode', '755'], typed('echo\n'));
  const bundle = join(folder, 'a.perdure');
  expect(await afar(['export', id, '-o', bundle])).toMatchObject({ code: 0 });
  expect(await afar(['import', bundle, '--json'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('"added":0'),
  });
  expect(await afar(['files', 'get', id, '--to', join(folder, 'copy')])).toMatchObject({
    code: 0,
    out: `${join(folder, 'copy')}  1 file\n`,
  });
  expect(await readFile(join(folder, 'copy/src/run.sh'), 'utf8')).toBe('echo\n');
  expect((await stat(join(folder, 'copy/src/run.sh'))).mode & 0o777).toBe(0o755);
  expect(await afar(['files', 'get', id, '--to', folder])).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not empty'),
  });
  expect(await afar(['gc', '--dry-run'])).toMatchObject({ code: 0 });
}, 60_000);

test('[CLIENT8] the workers of the server answer an input, and the client follows the run to its end', async () => {
  const { afar, runtime } = await start();
  const sent = await afar(['send', '--new', 'Hello']);
  expect(sent).toMatchObject({ code: 0, out: expect.stringContaining('Done.') });
  const [session] = (await runtime.sessions.list()).sessions;
  expect(await afar(['attach', session!.id])).toMatchObject({ code: 0, out: expect.stringContaining('Done.') });
  const lines = (await afar(['send', session!.id, 'Again', '--json'])).out.trim().split('\n');
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ type: 'run.ended' });
  const detached = await afar(['send', session!.id, 'Once more', '--detach', '--json']);
  const { run } = JSON.parse(detached.out);
  expect(await (await (await runtime.sessions.get(session!.id)).run(run)).waitForEnd()).toMatchObject({
    status: 'succeeded',
  });
  expect((await afar(['agents', '--json'])).out).toContain('"tester"');
  const again = await afar(['retry', session!.id, '1', '--json']);
  expect(again).toMatchObject({ code: 0 });
  expect(JSON.parse(again.out).diff).toMatchObject({ from: { session: session!.id } });
}, 60_000);

test('[CLIR10] waiting for a run that no worker claims prints a note that says how to start a worker', async () => {
  const { afar, keys, runtime } = await start({}, { hasWorker: false });
  const startSending = (key: string) => {
    const err = recorder(Number.POSITIVE_INFINITY);
    const sending = afar(['send', '--new', 'Hello'], { err, env: { PERDURE_KEY: key } });
    return { sending, text: () => err.bytes().toString() };
  };
  const [one, other] = [startSending(keys.admin), startSending(keys.member)];
  const next = 'start one with `perdure worker` where the store is';
  await expect
    .poll(one.text, { timeout: 20_000 })
    .toContain(`no worker has taken it yet: none has the agent tester@1; ${next}\n`);
  await expect.poll(other.text, { timeout: 20_000 }).toContain(`no worker has taken it yet; ${next}\n`);
  await runtime.worker().start();
  expect(await Promise.all([one.sending, other.sending])).toMatchObject([{ code: 0 }, { code: 0 }]);
  expect(one.text().match(/no worker/g)).toHaveLength(1);
}, 60_000);

test('[CLIR10, CLIR31, CLIR20] detaching from an input that no worker claims prints that it waits, and so does a retry', async () => {
  const { afar, runtime } = await start({}, { hasWorker: false });
  const err = recorder(Number.POSITIVE_INFINITY);
  let leave: ((how: 'interrupt' | 'leave') => void) | undefined;
  const sending = afar(['send', '--new', 'Hello'], {
    err,
    onInterrupt: (listener) => {
      leave = listener;
      return () => {};
    },
  });
  const text = () => err.bytes().toString();
  await expect.poll(text, { timeout: 20_000 }).toContain('no worker has taken it yet');
  leave!('leave');
  expect(await sending).toMatchObject({ code: 130 });
  expect(text()).toContain('the input is stored and waits for a worker; to come back:\n');
  expect(text()).not.toContain('goes on');
  expect(text().match(/no worker/g)).toHaveLength(1);
  const [session] = (await runtime.sessions.list()).sessions;
  await runtime.worker().runUntilIdle();
  const retried = await afar(['retry', session!.id, '1', '--detach']);
  expect(retried).toMatchObject({ code: 0, out: expect.stringMatching(/^turn 1 is tried again\nto compare/) });
  expect(retried.err).toMatch(/^no worker has taken it yet: none has the agent tester@1; start one with/);
}, 60_000);

test('[CLIR2, FORK6] a client that waits for a run reports it as cancelled when a rewind elsewhere cancels it', async () => {
  const { afar, here, runtime } = await start({}, { hasWorker: false });
  const session = await runtime.sessions.open({ agent: testAgent });
  const out = recorder(Number.POSITIVE_INFINITY);
  const sending = afar(['send', session.id, 'Hello', '--json'], { out });
  await expect.poll(() => out.bytes().toString()).toContain('input.admitted');
  expect(await here(['rewind', session.id, '--to', 'turn:0'])).toMatchObject({ code: 0 });
  expect(await sending).toMatchObject({ code: 3 });
  const { type, payload } = JSON.parse(out.bytes().toString().trim().split('\n').at(-1)!);
  expect({ type, payload }).toEqual({ type: 'run.ended', payload: { status: 'cancelled' } });
}, 60_000);

test('[CLIENT8] Ctrl-C leaves the run to the server, and a second Ctrl-C cancels it there', async () => {
  const began = Promise.withResolvers<void>();
  const wait = defineTool({
    name: 'wait',
    input: z.object({}),
    effects: 'none',
    execute: (_, { signal }) => {
      began.resolve();
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve('left')));
    },
  });
  const agents = [
    defineAgent({
      name: 'waiter',
      version: 1,
      model: defineScript({ name: 'waiter', everyTurn: true, steps: [{ calls: [{ tool: 'wait', input: {} }] }] }),
      tools: [wait],
    }),
  ];
  const { afar, runtime } = await start({ agents });
  const interrupts: ((how: 'interrupt' | 'leave') => void)[] = [];
  const world = {
    onInterrupt: (listener: (how: 'interrupt' | 'leave') => void) => {
      interrupts.push(listener);
      return () => {};
    },
  };
  const sending = afar(['send', '--new', 'Go'], world);
  await began.promise;
  await expect.poll(() => interrupts.length).toBeGreaterThan(0);
  interrupts[0]!('leave');
  expect(await sending).toMatchObject({
    code: 130,
    err: expect.stringContaining('the run goes on without this terminal'),
  });
  const [session] = (await runtime.sessions.list()).sessions;
  const attached = afar(['attach', session!.id], world);
  await expect.poll(() => interrupts.length).toBe(2);
  interrupts[1]!('interrupt');
  interrupts[1]!('interrupt');
  expect(await attached).toMatchObject({ code: 3 });
}, 60_000);

test('[CLIENT8] a chat over a server processes its input line by line', async () => {
  const { afar } = await start();
  const person = () => personAt(Readable.from(['Hello\n', 'And again\n', '/pause\n']), new PassThrough() as never);
  const chat = await afar(['chat'], { person });
  expect(chat).toMatchObject({ code: 0, out: expect.stringMatching(/Done\.\s[\s\S]*Done\./) });
  const [id = ''] = /ses_\w{26}/.exec(chat.err) ?? [];
  expect((await afar(['show', id])).out).toContain('paused');
}, 60_000);

test('[CLIENT15] commands that need the store itself are refused before any request', async () => {
  const { url, keys } = await start();
  const call = (...argv: readonly string[]) => callCli(argv, { env: { PERDURE_KEY: keys.admin, PERDURE_SERVER: url } });
  const local = [
    ['worker'],
    ['setup', '--name', 'Ann'],
    ['vault', 'init'],
    ['vault', 'rotate', '--master'],
    ['workspaces', 'ls'],
  ];
  for (const argv of local) {
    const { code, err } = await call(...argv);
    expect({ code, err: err.replaceAll(/\s+/g, ' ') }).toEqual({
      code: 2,
      err: expect.stringContaining('PERDURE_SERVER is set: unset it, or give --store'),
    });
  }
  const byName = await call('vault', 'rotate', '--master', '--server', url);
  expect(byName).toMatchObject({ code: 2, err: expect.stringContaining('where the store is') });
  expect(await call('help')).toMatchObject({ code: 0 });
  const ofFolders = await call('send', '--new', 'Hello', '--cwd', '.');
  expect(ofFolders).toMatchObject({ code: 2, err: expect.stringContaining('starts without files') });
  for (const option of ['--store', '--workspace', '--config']) {
    expect(await call('ls', '--server', url, option, 'a')).toMatchObject({
      code: 2,
      err: expect.stringContaining(option),
    });
  }
  expect(await call('ls', '--store', 'sqlite:/nowhere/a.db')).toMatchObject({
    code: 8,
    err: expect.stringContaining('there is no store'),
  });
}, 60_000);

test('[CLIENT14, CLIENT20, CLI26] store options are refused with a server, whether the option or the environment names it, and nothing changes', async () => {
  const { url, keys, runtime } = await start();
  const env = { PERDURE_KEY: keys.admin };
  const columns = Number.POSITIVE_INFINITY;
  const before = await runtime.keys.list();
  const byName = (...argv: readonly string[]) => callCli([...argv, '--server', url], { env, columns });
  const byEnv = (...argv: readonly string[]) => callCli(argv, { env: { ...env, PERDURE_SERVER: url }, columns });
  const calls = [
    ['keys', 'create', '--workspace', 'acme'],
    ['open', '--workspace', 'acme'],
    ['ls', '--workspace', 'nosuch'],
    ['send', '--new', 'hi', '--config', 'nosuch.ts'],
    ['agents', '--config', 'nosuch.ts'],
  ];
  for (const argv of calls) {
    const refusal = (server: string) => ({
      code: 2,
      err: expect.stringMatching(
        `^error INVALID_INPUT: ${argv.at(-2)} is for a store, and with ${server} the server and its key decide that: leave out`,
      ),
    });
    expect(await byEnv(...argv)).toMatchObject(refusal('PERDURE_SERVER'));
    expect(await byName(...argv)).toMatchObject(refusal('--server'));
  }
  for (const named of [{ PERDURE_SERVER: url }, {}]) {
    const argv = ['open', ...('PERDURE_SERVER' in named ? [] : ['--server', url])];
    expect(await callCli(argv, { env: { ...env, ...named, PERDURE_WORKSPACE: 'acme' }, columns })).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'PERDURE_WORKSPACE is for a store, and the key for a server belongs to one workspace: unset',
      ),
    });
  }
  const ofNone = await callCli(['agents'], { env: { ...env, PERDURE_SERVER: url, PERDURE_WORKSPACE: 'acme' } });
  expect(ofNone).toMatchObject({ code: 0 });
  expect(await runtime.keys.list()).toEqual(before);
  expect((await runtime.sessions.list()).sessions).toEqual([]);
}, 60_000);

test('[CLIENT14] serve ignores PERDURE_SERVER', async () => {
  const served = await callCli(['serve', '--port', '0'], {
    env: { PERDURE_SERVER: 'http://127.0.0.1:1' },
    folder: await newFolder(),
    openRuntime: () => Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'the store was opened')),
  });
  expect(served).toMatchObject({ code: 8, err: expect.stringContaining('the store was opened') });
});

test('[CLIENT14] a background worker of an explicit store does not inherit PERDURE_SERVER', async () => {
  const started: unknown[] = [];
  const store = `sqlite:${newSqliteFile()}`;
  const sent = await callCli(['send', '--new', 'hi', '--detach', '--store', store], {
    env: { PERDURE_SERVER: 'http://127.0.0.1:1' },
    folder: await newFolder(),
    startDetached: (_, { env }) => void started.push(env),
  });
  expect(sent).toMatchObject({ code: 0 });
  expect(started).toEqual([{ PERDURE_STORE: store, PERDURE_WORKSPACE: 'local' }]);
});

test('[CLIENT9, CLIENT16] the key comes from the environment or a private file, and is never shown', async () => {
  const { url, keys, afar } = await start();
  const file = join(await newFolder(), 'key');
  await writeFile(file, `${keys.viewer}\n`, { mode: 0o600 });
  const byFile = (...argv: readonly string[]) => callCli([...argv, '--server', url, '--key-file', file]);
  expect(await byFile('ls')).toMatchObject({ code: 0 });
  const refused = await byFile('open');
  expect(refused).toMatchObject({ code: 7, err: expect.stringContaining('FORBIDDEN') });
  await chmod(file, 0o640);
  expect(await byFile('ls')).toMatchObject({ code: 2, err: expect.stringContaining('chmod 600') });
  const noFile = await callCli(['ls', '--server', url, '--key-file', `${file}s`]);
  expect(noFile).toMatchObject({
    code: 5,
    err: expect.stringMatching(/FILE_NOT_FOUND: there is no file .*keys: name/s),
  });
  expect(await afar(['ls'], { env: {}, folder: '/nowhere' })).toMatchObject({
    code: 7,
    err: expect.stringMatching(/UNAUTHENTICATED.*PERDURE_KEY.*found\s+in\s+the\s+folder/s),
  });
  const wrong = await afar(['ls'], { env: { PERDURE_KEY: `${keys.viewer}x` } });
  expect(wrong).toMatchObject({
    code: 7,
    err: expect.stringMatching(/UNAUTHENTICATED.*PERDURE_KEY.*`perdure\s+keys\s+ls`.*`perdure\s+keys\s+create`/s),
  });
  const unknown = await afar(['ls'], { env: { PERDURE_KEY: 'pdk_nowhere.nothing' } });
  expect(unknown.err).toBe(wrong.err);
  const noAddress = await callCli(['ls', '--server', 'foo']);
  expect(noAddress).toMatchObject({
    code: 2,
    err: expect.stringMatching(/the server address is not valid: give one such/),
  });
  const nowhere = await callCli(['ls', '--server', `${url}/v1`], {
    env: { PERDURE_KEY: keys.viewer },
    columns: Number.POSITIVE_INFINITY,
  });
  expect(nowhere.code).toBe(2);
  expect(nowhere.err).toBe(
    `error ROUTE_NOT_FOUND: there is nothing at ${url}/v1: leave /v1 out of the server address\n`,
  );
  const broken = await afar(['ls'], { env: { PERDURE_KEY: `${keys.viewer}\nhost: a` } });
  expect(broken.code).toBe(2);
  for (const { out, err } of [refused, wrong, broken]) expect(out + err).not.toContain(keys.viewer);
}, 60_000);

test('[CLIENT10] a malicious server cannot make a copy write outside of the target folder', async () => {
  const folder = await newFolder();
  const lying = (...listed: readonly object[]) =>
    ({ files: { list: async () => listed, read: async () => Buffer.from('owned') } }) as unknown as Session;
  const file = (path: string) => ({ kind: 'file', path, mode: 0o644, size: 5, hash: 'a' });
  for (const path of ['../out', '/tmp/out', 'a/../../out', '']) {
    await expect(copyHere(lying(file(path)), join(folder, 'a'), {})).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  }
  const link = { kind: 'link', path: 'way', target: folder };
  const through = copyHere(lying(link, file('way/out')), join(folder, 'b'), {});
  await expect(through).rejects.toMatchObject({ code: 'FILE_UNAVAILABLE' });
  await expect(stat(join(folder, 'out'))).rejects.toMatchObject({ code: 'ENOENT' });
});
