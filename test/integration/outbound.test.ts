import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openRuntime, type RuntimeOptions } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/index.ts';
import { mcpTools } from '../../src/tools/index.ts';
import { newFolder } from '../support/files/start-run-files.ts';
import { startReceiver } from '../support/servers/webhook-receiver.ts';

const loopback = async () => [{ address: '127.0.0.1', family: 4 }];

const startServer = async (answer: RequestListener) => {
  const seen: string[] = [];
  const credentials: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url!);
    credentials.push(request.headers.authorization);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen, credentials };
};

/** Serves a folder over HTTP, from which git can clone. */
const serveFolder = (folder: string) =>
  startServer((request, response) => {
    try {
      response.end(readFileSync(join(folder, new URL(request.url!, 'http://a').pathname)));
    } catch {
      response.writeHead(404).end();
    }
  });

const start = async (outbound?: RuntimeOptions['outbound']) => {
  const runtime = await openRuntime({
    store: openMemoryStore(),
    data: await newFolder(),
    worker: false,
    ...(outbound && { outbound }),
  });
  onTestFinished(() => runtime.close());
  const { token } = await runtime.keys.create({ name: 'ci' });
  const { identity } = (await runtime.authenticate(token))!;
  return { runtime, withKey: runtime.as(identity) };
};

describe('clones of a caller with a key', () => {
  let source: string;
  beforeEach(async () => {
    source = await newFolder();
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: source });
    git('init', '-qb', 'main');
    writeFileSync(join(source, 'a.txt'), 'one');
    git('add', '.');
    git('commit', '-qm', 'One');
    git('update-server-info');
  });

  test('[OUT1, OUT3] a private address is refused, and the same clone by the program works', async () => {
    const server = await serveFolder(source);
    const { runtime, withKey } = await start();
    const git = `http://127.0.0.1:${server.port}/.git`;
    const refused = [
      git,
      git.replace('http:', 'https:'),
      'https://localhost/app.git',
      'https://2130706433/app.git',
      'https://[::ffff:127.0.0.1]/app.git',
      'https://169.254.169.254/latest',
    ];
    for (const each of refused) {
      await expect(withKey.sessions.open({ files: { git: each } }), each).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('may not be cloned'),
      });
    }
    expect(server.seen).toEqual([]);
    const session = await runtime.sessions.open({ files: { git } });
    expect(new TextDecoder().decode(await session.files.read('a.txt'))).toBe('one');
  });

  test('[OUT1] a name is refused if any of its addresses is private, without telling which', async () => {
    const resolve = async () => [{ address: '93.184.216.34', family: 4 }, ...(await loopback())];
    const { withKey } = await start({ resolve });
    const opening = withKey.sessions.open({ files: { git: 'https://ann:pass@git.invalid/app.git' } });
    const error = await opening.catch((problem: Error) => problem);
    expect(error).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('git.invalid is not at a public address'),
    });
    expect(JSON.stringify([error, (error as Error).message])).not.toMatch(/127\.0\.0\.1|pass/);
  });

  test('[OUT2] paths and other protocols are refused', async () => {
    const { withKey } = await start({ allowPrivate: true });
    for (const git of [source, `file://${source}`, 'ssh://git@127.0.0.1/a', 'git@127.0.0.1:a', 'ext::sh -c id', '-x']) {
      await expect(withKey.sessions.open({ files: { git } }), git).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
  });

  test('[OUT1] a host that would undo the pinning of its address is refused', async () => {
    const resolve = vi.fn(loopback);
    const { withKey } = await start({ allowPrivate: true, resolve });
    const hosts = ['-git.invalid', 'a.-git.invalid', '+git.invalid', '*', 'a,b.invalid', 'a..invalid'];
    for (const host of hosts) {
      await expect(withKey.sessions.open({ files: { git: `http://${host}/app.git` } }), host).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('expected a host of letters'),
      });
    }
    expect(resolve).not.toHaveBeenCalled();
  });

  test('[OUT1] git connects to the checked address: the name is resolved once', async () => {
    const server = await serveFolder(source);
    const resolve = vi.fn(loopback);
    const { withKey } = await start({ allowPrivate: true, resolve });
    const session = await withKey.sessions.open({ files: { git: `http://git.invalid.:${server.port}/.git` } });
    expect(new TextDecoder().decode(await session.files.read('a.txt'))).toBe('one');
    expect(resolve.mock.calls).toEqual([['git.invalid']]);
  });

  test('[OUT2] no redirect is followed, and no setting, proxy or credential of the host is used', async () => {
    const inner = await serveFolder(source);
    const proxy = await startServer((_, response) => response.writeHead(502).end());
    const outer = await startServer(({ url }, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${inner.port}${url}` }).end(),
    );
    const home = await newFolder();
    const rewriting = `[url "http://127.0.0.1:${inner.port}/"]\n\tinsteadOf = http://127.0.0.1:${outer.port}/\n`;
    writeFileSync(join(home, '.gitconfig'), rewriting);
    writeFileSync(join(home, '.netrc'), 'machine 127.0.0.1 login ann password secret\n');
    vi.stubEnv('HOME', home);
    vi.stubEnv('http_proxy', `http://127.0.0.1:${proxy.port}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { withKey } = await start({ allowPrivate: true });
    const opening = withKey.sessions.open({ files: { git: `http://127.0.0.1:${outer.port}/.git` } });
    await expect(opening).rejects.toMatchObject({ code: 'FILE_UNAVAILABLE' });
    expect([outer.credentials, inner.seen, proxy.seen]).toEqual([[undefined], [], []]);
  });
});

test('[OUT3] an MCP server is used at the address that the program names, and its redirects are not followed', async () => {
  const inner = await startServer((_, response) => response.writeHead(200).end());
  const outer = await startServer((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${inner.port}/` }).end(),
  );
  const listing = mcpTools({ name: 'tickets', url: `http://127.0.0.1:${outer.port}/` });
  await expect(listing).rejects.toMatchObject({ code: 'TOOL_INVALID' });
  expect([outer.seen.length > 0, inner.seen]).toEqual([true, []]);
});

describe('webhooks', () => {
  test('[OUT1, HOOK8] a name that resolves to this machine is refused, and the receiver gets nothing', async () => {
    const receiver = await startReceiver();
    const { runtime } = await start({ resolve: loopback });
    const url = `https://hooks.invalid:${new URL(receiver.url).port}/`;
    const { webhook } = await runtime.webhooks.add({ url, events: ['run.ended'] });
    const { attempts } = await runtime.webhooks.test(webhook.id);
    expect(attempts[0]!.error).toMatch(/^hooks\.invalid is not at a public address/);
    expect(receiver.received).toEqual([]);
  });

  test('[HOOK13] a redirect to a private address is not followed', async () => {
    const inner = await startReceiver();
    const outer = await startReceiver((response) => response.writeHead(307, { location: inner.url }).end());
    const { runtime } = await start({ allowPrivate: true });
    const { webhook } = await runtime.webhooks.add({ url: outer.url, events: ['run.ended'] });
    const { attempts } = await runtime.webhooks.test(webhook.id);
    expect(attempts[0]).toMatchObject({ status: 307, error: 'answered 307: redirects are not followed' });
    expect(inner.received).toEqual([]);
  });
});
