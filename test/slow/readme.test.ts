import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { blocksOf } from '../support/docs/blocks.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(checkout, 'README.md'), 'utf8');
const commands = Array.from(readme.matchAll(/^```sh\n(.*?)^```/gms), ([, block]) => block!.split('\n')).flat();

/** Environment of a fresh machine: only the system's Node, and no variables of ours. */
const fresh = {
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter),
  HOME: process.env.HOME ?? '',
  npm_config_prefer_offline: 'true',
};

let root: string;
let clone: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-readme-'));
  clone = join(root, 'perdure');
  execFileSync('git', ['clone', '-q', '--depth', '1', `file://${checkout}`, clone]);
});
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

/** Runs a command line in a shell with its own process group, as a terminal does. */
const typed = (line: string, cwd = clone) => {
  const child = spawn('sh', ['-c', line], {
    cwd,
    env: fresh,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => end(child, 'SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const closed = once(child, 'close').then(([code, signal]) => ({ code, signal, said }));
  return { child, closed, said: () => said };
};

const end = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    process.kill(-child.pid!, signal);
  } catch {
    // the process has already ended
  }
};

/** Occupies the default port, unless another process already held it when the first server started. */
const takeUsualPort = async (): Promise<void> => {
  const taken = createServer().listen(4730, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening').catch(() => undefined); // another process may hold it
};

/** Runs `npm start` as the README says, and waits until it has printed what to try. */
const started = async (line: string) => {
  const server = typed(line);
  const ready = () => /Ctrl-C stops it/.test(server.said());
  await expect.poll(() => ready() || server.child.exitCode !== null, { timeout: 240_000 }).toBe(true);
  expect(server.said()).toMatch(/Ctrl-C stops it/);
  const { said } = server;
  const url = / at (http:\/\/127\.0\.0\.1:\d+)/.exec(said())?.[1];
  const next = said()
    .split('try next')[1]!
    .split('\n')
    .flatMap((each) => (each.startsWith('  ') ? [each.trim()] : []));
  return { ...server, url: url!, next };
};

test("[START1, START2] following the README on a clean clone with the system's Node: the server starts, and the suggested commands and the demo work", async () => {
  const start = commands.find((line) => line.endsWith('npm start'));
  expect(start).toBe('npm ci && npm start');
  expect(existsSync(join(clone, 'node_modules'))).toBe(false);

  const first = await started(start!);
  expect(first.said()).toContain('demo is a script, not a model');
  expect(first.next).toHaveLength(3);
  const outcomes = [];
  for (const command of first.next) outcomes.push(await typed(command).closed);
  expect(outcomes).toMatchObject([
    { code: 0, said: expect.stringMatching(/→ shell .*← shell ok.*That was all, as the script says/s) },
    { code: 0, said: expect.stringMatching(/ses_\w+ +active +1 /) },
    { code: 0, said: expect.stringMatching(/✓ ses_\w+ .*the chain holds\n1 session, all sound/) },
  ]);

  await takeUsualPort();
  const second = await started('npm start');
  expect(second.url).not.toBe(first.url);
  expect(second.said()).toContain('since port 4730 is in use');
  expect(await typed(second.next[1]!).closed).toMatchObject({ code: 0, said: expect.stringContaining('ses_') });

  for (const { child } of [first, second]) end(child, 'SIGINT');
  for (const { code, signal, said } of await Promise.all([first.closed, second.closed])) {
    expect([0, 130, 'SIGINT']).toContain(code ?? signal);
    expect(said).not.toMatch(/npm err/i);
  }

  const demo = commands.find((line) => line.endsWith('perdure demo'))!;
  const demoRun = await typed(`${demo} --in story`).closed;
  expect(demoRun).toMatchObject({ code: 0, said: expect.stringContaining('That was all.') });
});

test("[DOC2] the README's agent runs where the README says to save it, in a checkout and in a separate project", async () => {
  const { code: program } = blocksOf('README.md', readme).find(({ isProgram }) => isProgram)!;
  const [inCheckout = '', inProject = ''] = /^In a checkout, save it as .*$/m
    .exec(readme)![0]
    .split('For your own project');
  const codes = (text: string) => Array.from(text.matchAll(/`([^`]+)`/g), ([, code]) => code!);
  const [file, , ...steps] = codes(inCheckout);
  const [pack, ...ownSteps] = codes(inProject);
  const project = join(root, 'yours');
  mkdirSync(project);
  writeFileSync(join(clone, file!), program);
  writeFileSync(join(project, 'agent.ts'), program);
  const lines = [
    ['npm ci', clone],
    ...[...steps, pack!].map((line) => [line, clone]),
    ...ownSteps.map((line) => [line, project]),
  ] as const;
  for (const [line, folder] of lines) {
    const { code, said } = await typed(line!, folder).closed;
    expect(code, `${line}: ${said}`).toBe(0);
    if (line!.startsWith('npx node')) expect(said).toMatch(/status: 'succeeded',\n {2}output: 'It is out.'/);
  }
  expect(lines.filter(([line]) => line!.startsWith('npx node'))).toHaveLength(2);
});

test('[START1] the README names the tests that every change must pass', () => {
  const [, run = ''] = commands.find((line) => line.endsWith('npm test'))!.split(' && ');
  const steps = readFileSync(join(checkout, '.ci', 'run'), 'utf8').split('\n');
  expect(steps).toEqual(expect.arrayContaining(['step npm ci', `step ${run}`]));
});

test('[DOC3, DOC8] the figures in the README are those of the last recorded peer benchmark', () => {
  const report = readFileSync(join(checkout, 'bench', 'results', 'peers.md'), 'utf8');
  const [said] = readme.split('\n## ').filter((part) => part.startsWith('What it costs'));
  const ratios = [...said!.matchAll(/([\d.]+)x/g)].map(([, ratio]) => ratio);
  expect(ratios.length).toBeGreaterThan(8);
  for (const ratio of ratios) expect(report).toContain(`**${ratio}×**`);
});
