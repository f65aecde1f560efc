import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { newStorePlace } from '../../../../test/support/stores/stores.ts';
import type { WorkerInfo } from '../../../core/runs/list-workers.ts';
import { openRuntime, type StoreInspection } from '../../../runtime.ts';
import { checkDisk, checkPermissions, checkSandbox, checkVersions } from '../../doctor/check-host.ts';
import { checkModels, checkVaults, checkWorkers } from '../../doctor/check-runtime.ts';
import { checkClocks, checkConnections, checkStore } from '../../doctor/check-store.ts';
import { type Finding, type Topic, topics } from '../../doctor/finding.ts';

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o700);
  return folder;
};

const newStore = async () => {
  const folder = await newFolder();
  const file = join(folder, 'perdure.db');
  const runtime = await openRuntime({ store: `sqlite:${file}` });
  await runtime.sessions.open({ title: 'one' });
  await runtime.close();
  return { folder, file };
};

/** The findings of `doctor --json` on this store, and its exit code. */
const examine = async (store: string, env: Record<string, string> = {}) => {
  const { code, out } = await callCli(['doctor', '--json', '--store', store], { env });
  const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: readonly Finding[] };
  expect(ok).toBe(code === 0);
  expect(new Set(findings.map(({ topic }) => topic))).toEqual(new Set(topics));
  for (const { status, todo } of findings) if (status !== 'ok') expect(todo).toBeTruthy();
  const of = (topic: Topic) => findings.filter((each) => each.topic === topic);
  return { code, findings, of };
};

const text = (findings: readonly Finding[]): string =>
  findings.map(({ status, found, todo = '' }) => `${status} ${found} ${todo}`).join('\n');

test('[DOCTOR1] a healthy store and host pass, in lines of at most 80 columns', async () => {
  const { folder, file } = await newStore();
  const { code, of } = await examine(`sqlite:${file}`);
  expect(code).toBe(0);
  expect(text(of('store'))).toMatch(
    /can be read and written[\s\S]*schema \d+, current[\s\S]*journal mode wal[\s\S]*it opens/,
  );
  expect(text(of('versions'))).toMatch(/perdure [\d.]+[\s\S]*Node 2\d[\s\S]*SQLite 3/);
  const { out } = await callCli(['doctor', '--store', `sqlite:${file}`], { columns: 80 });
  const long = out.split('\n').filter((line) => line.length > 80 && !line.includes(folder));
  expect(long).toEqual([]);
  expect(out).toMatch(/\d+ ok, \d+ warnings?, 0 failures\n$/);
});

test('[DOCTOR2] a missing store is reported and not made, and the other checks still run', async () => {
  const folder = await newFolder();
  const { code, of } = await examine(`sqlite:${join(folder, 'none.db')}`);
  expect(code).toBe(1);
  expect(text(of('store'))).toMatch(/^fail there is no store at/);
  expect(text(of('workers'))).toMatch(/^warn not checked/);
  expect(of('sandbox').length).toBeGreaterThan(3);
  expect(readdirSync(folder)).toEqual([]);
});

test('[DOCTOR2] a locked, a damaged and a newer store are reported, each with what to do', async () => {
  const { file } = await newStore();
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  expect(text((await examine(`sqlite:${file}`)).of('store'))).toMatch(
    /fail .*cannot be written: database is locked end/,
  );
  db.exec("UPDATE meta SET schema = schema + 1, oldest_reader = '99.0.0'; COMMIT");
  const newer = await examine(`sqlite:${file}`);
  expect(newer.code).toBe(1);
  expect(text(newer.of('store'))).toMatch(/of a newer release upgrade perdure[\s\S]*fail .*99\.0\.0/);
  const foreign = join(await newFolder(), 'other.db');
  writeFileSync(foreign, 'not a database'.repeat(1000));
  expect(text((await examine(`sqlite:${foreign}`)).of('store'))).toMatch(/^fail .*not a database/);
});

test('[DOCTOR2] an older store is not migrated', async () => {
  const { file } = await newStore();
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  db.exec('UPDATE meta SET schema = schema - 1');
  const { code, of } = await examine(`sqlite:${file}`);
  expect(code).toBe(0);
  expect(text(of('store'))).toMatch(/warn its schema is \d+, and this release has \d+ back it up/);
  const { schema } = db.prepare('SELECT schema FROM meta').get() as { schema: number };
  expect(text(of('store'))).toContain(`its schema is ${schema},`);
});

test('[DOCTOR3] a vault that the master key does not open fails', async () => {
  const { folder, file } = await newStore();
  vi.stubEnv('PERDURE_DATA', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const runtime = await openRuntime({ store: `sqlite:${file}` });
  await runtime.makeMasterKey();
  await runtime.vault.set('TOKEN', 'a secret value');
  await runtime.close();
  expect(text((await examine(`sqlite:${file}`)).of('vault'))).toBe('ok the master key opens 1 vault ');
  vi.stubEnv('PERDURE_MASTER_KEY', Buffer.alloc(32, 7).toString('base64'));
  const { code, of } = await examine(`sqlite:${file}`);
  expect(code).toBe(1);
  expect(text(of('vault'))).toMatch(/^fail local: .* set the master key with which/);
  chmodSync(join(folder, 'master.key'), 0o644);
  expect(text((await examine(`sqlite:${file}`)).of('permissions'))).toMatch(
    /warn .*master\.key has mode 0644.*chmod 600/,
  );
});

test('[DOCTOR4] on PostgreSQL the server, its settings, connections and clock are checked, and no password is shown', async () => {
  const place = await newStorePlace('postgres');
  onTestFinished(place.remove);
  await (await openRuntime({ store: place.address })).close();
  const { of } = await examine(place.address);
  expect(text(of('versions'))).toMatch(/PostgreSQL \d+/);
  expect(text(of('store'))).toMatch(/is a primary[\s\S]*schema \d+, current[\s\S]*row-level security[\s\S]*it opens/);
  expect(text(of('connections'))).toMatch(/\d+ of \d+ in use/);
  expect(text(of('clocks'))).toMatch(/^ok the server's clock is \d+ ms/);
  const gone = await examine('postgres://me:hidden-word@127.0.0.1:9/none');
  expect(gone.code).toBe(1);
  expect(text(gone.of('store'))).toMatch(/^fail .*ECONNREFUSED.* check the address/);
  expect(text(gone.findings)).not.toContain('hidden-word');
});

const postgres = {
  kind: 'postgres',
  server: '18.1',
  schema: 9,
  newestSchema: 9,
  isStandby: false,
  settings: { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on', standbys: '' },
  role: { name: 'app', isExempt: false },
  connections: { max: 97, used: 20, pool: 8 },
  clock: { aheadMs: 3, withinMs: 1 },
} as const satisfies StoreInspection;
const storeText = (more: Partial<typeof postgres | Record<string, unknown>>) =>
  text(checkStore({ ...postgres, ...more } as StoreInspection, 'the store'));

describe('single checks of doctor', () => {
  test('[DOCTOR4] settings under which PostgreSQL loses acknowledged events fail', () => {
    expect(storeText({})).not.toMatch(/^(?:fail|warn)/m);
    const { settings } = postgres;
    expect(storeText({ settings: { ...settings, fsync: 'off' } })).toContain('fail fsync is off');
    expect(storeText({ settings: { ...settings, synchronous_commit: 'off' } })).toContain(
      'fail synchronous_commit is off',
    );
    const local = { ...settings, standbys: '*', synchronous_commit: 'local' };
    expect(storeText({ settings: local })).toContain('warn synchronous_commit local');
    expect(storeText({ settings: { ...settings, standbys: '*' } })).toContain('ok synchronous_commit on, standbys *');
    expect(storeText({ isStandby: true })).toContain('fail the store is a standby');
    expect(storeText({ role: { name: 'postgres', isExempt: true } })).toContain(
      'warn row-level security does not bind',
    );
    expect(storeText({ schema: undefined })).toContain('warn it holds no sessions yet');
  });

  test('[DOCTOR4] too few connections and a skewed clock are reported', () => {
    expect(text(checkConnections(postgres, 3))).toMatch(/^ok 20 of 97 in use; 3 × \(8 \+ 1\) = 27/);
    expect(text(checkConnections(postgres, 20))).toMatch(/^warn .*= 180 .*PERDURE_POOL_SIZE/);
    expect(text(checkConnections({ ...postgres, connections: { max: 20, used: 20, pool: 8 } }, 1))).toMatch(/^fail/);
    const skewed = (aheadMs: number) => text(checkClocks({ ...postgres, clock: { aheadMs, withinMs: 5 } }));
    expect([skewed(900), skewed(-5000), skewed(120_000)].map((line) => line.split(' ')[0])).toEqual([
      'ok',
      'warn',
      'fail',
    ]);
    expect(skewed(-5000)).toContain('5000 ms behind');
  });

  test('[DOCTOR3] lost and missing workers, and models without a key, are reported', async () => {
    const worker = (more: Partial<WorkerInfo>): WorkerInfo => ({
      ...{ worker: 'wrk_1', isOwn: false, agents: [], concurrency: 4, busy: 1, hasRoom: true, holds: [] },
      ...{ status: 'working', startedAt: 0, seenAt: 1000 },
      ...more,
    });
    expect(text(checkWorkers([], 5000))).toMatch(/^warn no live worker.*perdure worker/);
    expect(text(checkWorkers([worker({})], 5000))).toMatch(/^ok 1 live worker, 1 sessions/);
    expect(text(checkWorkers([worker({ hasRoom: false })], 5000))).toMatch(/^warn .*no room for more/);
    const lost = worker({ status: 'lost', holds: ['ses_1' as never] });
    expect(text(checkWorkers([worker({}), lost], 5000))).toMatch(
      /warn wrk_1 is lost, seen 4 s ago, and held 1 session/,
    );
    expect(text(checkModels(new Map()))).toMatch(/^warn no agents/);
    const keyless = { name: 'hosted/x', problem: 'no key' };
    expect(text(checkModels(new Map([[{ name: 'a' }, [keyless]]])))).toMatch(/^fail a: hosted\/x: no key/);
    expect(text(checkModels(new Map([[{ name: 'a' }, [keyless, { name: 'local/y' }]]])))).toMatch(
      /^warn .*\nok a: local\/y/,
    );
    expect(text(await checkVaults({ checkVaults: async () => [] }))).toBe('ok no workspace has secrets ');
  });

  test('[DOCTOR5] which limits of commands hold is reported', () => {
    const limits = { processes: 'cgroup v2', memory: 'cgroup v2', cpu: 'cgroup v2' } as const;
    expect(text(checkSandbox({ problem: undefined, hasFilter: true, limits }, []))).not.toMatch(/warn|fail/);
    const weak = { processes: 'watch', memory: 'rlimit', cpu: 'rlimit' } as const;
    const shown = text(checkSandbox({ problem: 'bwrap is not installed', hasFilter: false, limits: weak }, []));
    expect(shown).toMatch(/warn no sandbox, so a person is asked before each command: bwrap is not installed/);
    expect(shown).toMatch(
      /warn processes: only watched .*Delegate=yes[\s\S]*warn memory: limited by rlimit, for each process/,
    );
    expect(text(checkSandbox({ problem: undefined, hasFilter: false, limits }, []))).toContain(
      'warn system calls: not filtered',
    );
    const shell = { confinement: 'off' };
    const agent = { name: 'open', tools: new Map([['shell', shell]]) } as never;
    expect(text(checkSandbox({ problem: undefined, hasFilter: true, limits }, [agent]))).toContain(
      'the sandbox is off for open',
    );
  });

  test('[DOCTOR5] an old Node, open files, root and a full disk are reported', async () => {
    expect(text(checkVersions('0.1.0', undefined, '22.1.0'))).toContain('fail Node 22.1.0 install Node 24');
    const folder = await newFolder();
    mkdirSync(join(folder, 'data'), { mode: 0o755 });
    const owned = { data: join(folder, 'data'), store: undefined, keyFile: join(folder, 'none') };
    expect(text(checkPermissions({ ...owned, uid: 1000 }))).toMatch(
      /^ok this user is not root[\s\S]*warn .*0755.*chmod 700/,
    );
    expect(text(checkPermissions({ ...owned, uid: 0 }))).toMatch(/^warn this user is root run workers/);
    expect(text(checkDisk(join(folder, 'not', 'made'), folder))).toMatch(/GiB free for data/);
    if (existsSync('/proc/1')) expect(text(checkDisk('/proc', folder))).toMatch(/^fail 0\.0 GiB free .*make room/);
  });
});
