import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stampOf } from '../../src/core/files/disk/read-file.ts';
import type { ScannedFile } from '../../src/core/files/disk/scan.ts';
import { readStatCache, writeStatCache } from '../../src/core/files/disk/stat-cache.ts';
import { defineAgent, defineScript, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { writeTool } from '../../src/tools/index.ts';
import { callCli } from '../support/cli/call-cli.ts';

let root: string;
let runtime: Runtime;
const script = defineScript({
  name: 'test',
  everyTurn: true,
  steps: [
    { when: { answers: 0 }, calls: [{ tool: 'write', input: { path: 'a.txt', content: 'one' } }] },
    { text: 'Done.' },
  ],
});

const agent = defineAgent({ name: 'writer', version: 1, model: script, tools: [writeTool] });
const open = (data = 'data') =>
  openRuntime({
    store: `sqlite:${join(root, 'perdure.db')}`,
    data: join(root, data),
    agents: [agent],
    worker: false,
  });
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'perdure-gc-worktrees-')));
  runtime = await open();
});
afterEach(async () => {
  await runtime.close();
  await rm(root, { recursive: true });
});

const homeOf = ({ id }: Session) => join(root, 'data', 'worktrees', 'local', id);
/** The files of a worktree, without the runtime's own folder. */
const contentOf = (session: Session): readonly string[] =>
  readdirSync(homeOf(session), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^(files|aside)/.test(name))
    .sort();
const worked = async (files?: { cwd: string }, on = runtime): Promise<Session> => {
  const session = await on.sessions.open({ agent, ...(files && { files }) });
  await session.send('Write');
  await on.worker({ session: session.id, pollMs: 50 }).runUntilIdle();
  return session;
};
const archived = async (): Promise<Session> => {
  const session = await worked();
  await session.close();
  await session.archive();
  return session;
};
const collected = async (dryRun = false) => (await runtime.gc({ dryRun })).worktrees;

test('[GC5] a worktree of an archived session is removed once the log has its files, and can be restored from the log', async () => {
  const [session, active, closed] = [await archived(), await worked(), await worked()];
  await closed.close();
  const expected = [{ session: session.id, folder: join(homeOf(session), 'files') }];
  expect(await collected(true)).toEqual(expected);
  expect(existsSync(expected[0]!.folder)).toBe(true);
  expect(await collected()).toEqual(expected);
  expect(readdirSync(join(root, 'data', 'worktrees', 'local')).sort()).toEqual([active.id, closed.id].sort());
  expect(await collected()).toEqual([]);
  await session.unarchive();
  await session.reopen();
  await session.send('Write');
  await runtime.worker({ session: session.id, pollMs: 50 }).runUntilIdle();
  expect(readFileSync(join(homeOf(session), 'files', 'a.txt'), 'utf8')).toBe('one');
});

test('[GC5] a worktree whose files are in an older snapshot of the log is removed too', async () => {
  const session = await worked();
  await session.files.write('b.txt', 'from elsewhere');
  await session.close();
  await session.archive();
  expect(await collected()).toEqual([{ session: session.id, folder: join(homeOf(session), 'files') }]);
});

test.each([
  ['manual changes', (home: string) => writeFileSync(join(home, 'files', 'a.txt'), 'by hand'), /no snapshot/],
  ['files that snapshots leave out', (home: string) => mkdirSync(join(home, 'files', 'node_modules')), /node_modules/],
  [
    'files that were moved aside',
    (home: string) => {
      mkdirSync(join(home, 'aside', 'moved-1'), { recursive: true });
      writeFileSync(join(home, 'aside', 'moved-1', 'big.log'), 'x');
    },
    /30 days/,
  ],
])('[GC7] a worktree with %s stays, with the reason', async (_, change, why) => {
  const session = await archived();
  change(homeOf(session));
  const before = contentOf(session);
  for (const dryRun of [true, false]) {
    expect(await collected(dryRun)).toEqual([
      { session: session.id, folder: join(homeOf(session), 'files'), stays: expect.stringMatching(why) },
    ]);
    expect(contentOf(session)).toEqual(before);
  }
});

test('[GC7] files that were moved aside are removed after 30 days', async () => {
  const session = await archived();
  const moved = join(homeOf(session), 'aside', 'moved-1');
  mkdirSync(moved, { recursive: true });
  const days = (count: number) => Date.now() / 1000 - count * 86_400;
  utimesSync(moved, days(29), days(29));
  expect(await collected(true)).toMatchObject([{ stays: expect.any(String) }]);
  utimesSync(moved, days(31), days(31));
  await collected();
  expect(existsSync(homeOf(session))).toBe(false);
});

test('[GC8] after a crash at any step the next collection continues', async () => {
  const [moved, removed, changed] = [await archived(), await archived(), await archived()];
  renameSync(homeOf(moved), `${homeOf(moved)}.leaving`);
  renameSync(homeOf(removed), `${homeOf(removed)}.gone`);
  await rm(join(`${homeOf(removed)}.gone`, 'files', 'a.txt'));
  writeFileSync(join(homeOf(changed), 'files', 'mine.txt'), 'by hand');
  renameSync(homeOf(changed), `${homeOf(changed)}.leaving`);
  expect(await collected()).toEqual([
    { session: moved.id, folder: join(homeOf(moved), 'files') },
    { session: changed.id, folder: join(homeOf(changed), 'files'), stays: expect.stringContaining('no snapshot') },
  ]);
  expect(readdirSync(join(root, 'data', 'worktrees', 'local'))).toEqual([changed.id]);
  expect(readFileSync(join(homeOf(changed), 'files', 'mine.txt'), 'utf8')).toBe('by hand');
});

test("[GC9, FILE23] a person's folder is released when its session was closed elsewhere, and no file in it is removed", async () => {
  const own = join(root, 'own');
  mkdirSync(own);
  const session = await worked({ cwd: own });
  const elsewhere = await open('elsewhere');
  const there = await elsewhere.sessions.get(session.id);
  await there.close();
  await there.archive();
  await elsewhere.close();
  expect(readdirSync(own).sort()).toEqual(['.perdure', 'a.txt']);
  await collected(true);
  expect(readdirSync(own).sort()).toEqual(['.perdure', 'a.txt']);
  expect(await collected()).toEqual([]);
  expect(readdirSync(own)).toEqual(['a.txt']);
});

test('[GC5, CLI1] the command line says which worktrees would be removed, which stay, and why', async () => {
  const [session, changed] = [await archived(), await archived()];
  writeFileSync(join(homeOf(changed), 'files', 'mine.txt'), 'by hand');
  process.env.PERDURE_DATA = join(root, 'data');
  try {
    const call = ['gc', '--dry-run', '--store', `sqlite:${join(root, 'perdure.db')}`];
    const { out } = await callCli(call, { columns: Number.POSITIVE_INFINITY });
    expect(out).toContain(`would go     ${join(homeOf(session), 'files')}: `);
    expect(out).toContain(`kept         ${join(homeOf(changed), 'files')}: `);
  } finally {
    delete process.env.PERDURE_DATA;
  }
});

test('[GC7] a worktree that cannot be inspected stays, and is reported', async () => {
  const session = await archived();
  const folder = join(homeOf(session), 'files');
  await rm(folder, { recursive: true });
  writeFileSync(folder, 'a file in its place');
  expect(await collected()).toEqual([{ session: session.id, folder, stays: expect.stringContaining(folder) }]);
  expect(readFileSync(folder, 'utf8')).toBe('a file in its place');
});

test('[GC5] a worktree that was moved away and must stay does not block the worktree that was created since', async () => {
  const session = await archived();
  renameSync(homeOf(session), `${homeOf(session)}.leaving`);
  writeFileSync(join(`${homeOf(session)}.leaving`, 'files', 'a.txt'), 'by hand');
  await session.unarchive();
  await session.reopen();
  await session.send('Write');
  await runtime.worker({ session: session.id, pollMs: 50 }).runUntilIdle();
  await session.close();
  await session.archive();
  for (let time = 0; time < 2; time++) {
    expect(await collected()).toMatchObject([{ stays: expect.any(String) }, { stays: expect.any(String) }]);
    expect(readFileSync(join(`${homeOf(session)}.leaving`, 'files', 'a.txt'), 'utf8')).toBe('by hand');
  }
});

test('[GC5] concurrent collections remove each worktree once, and none fails', async () => {
  const sessions = await Array.fromAsync({ length: 5 }, archived);
  const others = await Promise.all(Array.from({ length: 3 }, () => open()));
  const all = await Promise.all([runtime, ...others].map(async (each) => (await each.gc()).worktrees));
  await Promise.all(others.map((each) => each.close()));
  expect(readdirSync(join(root, 'data', 'worktrees', 'local'))).toEqual([]);
  expect(new Set(all.flat().map(({ session }) => session))).toEqual(new Set(sessions.map(({ id }) => id)));
});

test('[GC8] a worktree that was moved away is put back if its session is no longer archived', async () => {
  const session = await archived();
  renameSync(homeOf(session), `${homeOf(session)}.leaving`);
  await session.unarchive();
  expect(await collected()).toMatchObject([
    { session: session.id, stays: expect.stringMatching(/no longer archived/) },
  ]);
  expect(contentOf(session)).toEqual(['files', 'files/a.txt']);
});

test('[GC5] files are read again before they are removed, even if an earlier scan is cached', async () => {
  const session = await archived();
  await runtime.close();
  const file = join(homeOf(session), 'files', 'a.txt');
  writeFileSync(file, 'two');
  const stats = join(homeOf(session), 'own-stats');
  const { secrets, root: scanned } = readStatCache(stats)!;
  const known = scanned.entries.get('a.txt') as ScannedFile;
  const entries = new Map([['a.txt', { ...known, stamp: stampOf(lstatSync(file)) }]]);
  writeStatCache(stats, { secrets, root: { ...scanned, entries } });
  runtime = await open();
  expect(await collected()).toMatchObject([{ stays: expect.stringMatching(/no snapshot/) }]);
  expect(readFileSync(file, 'utf8')).toBe('two');
});
