import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { olderNode, renamedNode } from '../support/cli/older-node.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-bin-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Makes a package whose command is `main`, with or without its own Node. */
function layOut({ folder = root, main = 'src/cli/main.ts', source = '', ownNode = true }): string {
  cpSync(join(checkout, 'bin'), join(folder, 'bin'), { recursive: true });
  write(join(folder, 'package.json'), '{ "type": "module" }');
  write(join(folder, main), source);
  if (ownNode) {
    mkdirSync(join(root, 'node_modules', '.bin'), { recursive: true });
    symlinkSync(process.execPath, join(root, 'node_modules', '.bin', 'node'));
  }
  return join(folder, 'bin', 'perdure');
}

function start([node, ...options]: readonly string[], bin: string, ...args: string[]): ChildProcess {
  return spawn(String(node), [...options, bin, ...args], { stdio: 'pipe' });
}

async function finish(child: ChildProcess) {
  if (!child.stdout || !child.stderr) throw new Error('no pipes');
  const [out, err, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { out, err, code, signal };
}

for (const [name, older] of [
  ['an older Node', () => olderNode(root)],
  ['a Node called v12', () => renamedNode(root)],
] as const) {
  test(`[CLI2] started by ${name}, the command restarts with the project's Node and passes on arguments and exit code`, async () => {
    const source =
      'const args: string[] = process.argv.slice(2); console.log(process.version, ...args); process.exit(7)';
    const bin = layOut({ source });
    const { out, err, code } = await finish(start(older(), bin, 'ls', '--json', 'a b'));
    expect({ out, err, code }).toEqual({ out: `${process.version} ls --json a b\n`, err: '', code: 7 });
  });

  test(`[CLI2] started by ${name} with no newer Node available, the command says which version is needed`, async () => {
    const { out, err, code } = await finish(start(older(), layOut({ ownNode: false })));
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toMatch(/^perdure needs Node 24 or newer, this is v\d+\.\d+\.\d+: run "npm ci" in .*\n$/);
  });
}

test('[CLI2] a local Node that is itself too old is ignored', async () => {
  const bin = layOut({ ownNode: false });
  const old = write(join(root, 'node_modules', '.bin', 'node'), '#!/bin/sh\necho v18.0.0\n');
  spawnSync('chmod', ['+x', old]);
  const { err, code } = await finish(start(renamedNode(root), bin));
  expect(code).toBe(1);
  expect(err).toContain('needs Node 24');
});

test('[CLI2] an installed package runs its JavaScript, with the Node of the project that depends on it', async () => {
  const folder = join(root, 'node_modules', 'perdure');
  const bin = layOut({ folder, main: 'dist/cli/main.js', source: 'console.log("from dist")' });
  write(join(folder, 'src', 'cli', 'main.ts'), 'console.log("from src")');
  expect(await finish(start(olderNode(root), bin))).toMatchObject({ out: 'from dist\n', err: '', code: 0 });
  expect(await finish(start([process.execPath], bin))).toMatchObject({ out: 'from dist\n', err: '', code: 0 });
});

test('[CLI2] an installed package without a recent Node says where to get one', async () => {
  const folder = join(root, 'node_modules', 'perdure');
  const bin = layOut({ folder, main: 'dist/cli/main.js', ownNode: false });
  const { err, code } = await finish(start(olderNode(root), bin));
  expect(code).toBe(1);
  expect(err).toContain('npm install --save-dev node@24');
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} reaches the command, whose exit code is returned`, async () => {
    const source = `process.on('${signal}', () => process.exit(9)); setInterval(() => {}, 1000); console.log('ready')`;
    const child = start(olderNode(root), layOut({ source }));
    child.stdout?.once('data', () => child.kill(signal));
    expect(await finish(child)).toMatchObject({ err: '', code: 9, signal: null });
  });
}

test('Ctrl-C at a terminal reaches the command once, even when its input is a pipe', async () => {
  const source = `
    let times = 0;
    process.on('SIGINT', () => { times += 1; setTimeout(() => { console.log('interrupted ' + times); process.exit(); }, 300); });
    process.stdin.resume();
    setInterval(() => {}, 1000);
    console.log('ready');`;
  const [node, ...options] = olderNode(root);
  const command = [node, ...options, layOut({ source })].map((part) => `'${part}'`).join(' ');
  const child = spawn('script', ['-qfec', `sleep 5 | ${command}`, '/dev/null'], { stdio: 'pipe' });
  child.stdout.once('data', () => child.stdin.write('\x03'));
  expect((await finish(child)).out).toMatch(/interrupted 1\r?\n/);
});

test('a command killed by a signal ends the outer process with the same signal', async () => {
  const source = `setInterval(() => {}, 1000); console.log('ready')`;
  const child = start(olderNode(root), layOut({ source }));
  child.stdout?.once('data', () => child.kill('SIGTERM'));
  expect(await finish(child)).toMatchObject({ code: null, signal: 'SIGTERM' });
});

test('[CLI2] SIGKILL to the outer process ends the command too', async () => {
  const source = `process.on('exit', () => console.log('left')); setInterval(() => {}, 1000); console.log(process.pid)`;
  const child = start(olderNode(root), layOut({ source }));
  child.stdout?.once('data', () => child.kill('SIGKILL'));
  // The output ends when the last process that holds it has exited.
  const { out, signal } = await finish(child);
  expect({ out, signal }).toEqual({ out: expect.stringMatching(/^\d+\n$/), signal: 'SIGKILL' });
});

test('[CLI2] the channel between both processes keeps nothing alive, and the command does not see it', async () => {
  const source = `import { spawnSync } from 'node:child_process';
    const env = spawnSync('env').stdout.toString();
    console.log(process.env.PERDURE_LAUNCHED ?? 'none', env.includes('LAUNCHED'), env.includes('CHANNEL'))`;
  const { out, code } = await finish(start(olderNode(root), layOut({ source })));
  expect({ out, code }).toEqual({ out: 'none false false\n', code: 0 });
});
