import { existsSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { StoreInspection } from '../../runtime.ts';
import type { SandboxReport } from '../../tools/shell/sandbox-report.ts';
import type { Agent } from '../config/config.ts';
import { type Finding, finding } from './finding.ts';

const neededNode = 24;

export const checkVersions = (
  release: string,
  store: StoreInspection | undefined,
  node = process.versions.node,
): readonly Finding[] => {
  const isOld = Number.parseInt(node, 10) < neededNode;
  const engine = { sqlite: 'SQLite', postgres: 'PostgreSQL', other: 'another store' }[store?.kind ?? 'other'];
  return [
    finding('versions', 'ok', `perdure ${release}`),
    finding(
      'versions',
      isOld ? 'fail' : 'ok',
      `Node ${node}`,
      isOld ? `install Node ${neededNode} or newer` : undefined,
    ),
    ...(store && store.kind !== 'other' ? [finding('versions', 'ok', `${engine} ${store.server}`)] : []),
  ];
};

const roomNeeded = { warn: 2 * 1024 ** 3, fail: 200 * 1024 ** 2 };
const gibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

/** The nearest folder that exists, because the data folder may not be made yet. */
const existing = (path: string): string => (existsSync(path) ? path : existing(dirname(path)));

const roomIn = (what: string, path: string): Finding => {
  const { bsize, bavail, files, ffree } = statfsSync(existing(path));
  const free = bsize * bavail;
  const isOutOfFiles = files > 0 && ffree < 10_000;
  const status = free < roomNeeded.fail || isOutOfFiles ? 'fail' : free < roomNeeded.warn ? 'warn' : 'ok';
  const found = `${gibibytes(free)} free for ${what} (${path})${isOutOfFiles ? `, but only ${ffree} more files` : ''}`;
  return finding('disk', status, found, status === 'ok' ? undefined : 'make room, or use another disk');
};

export const checkDisk = (data: string, temporary = tmpdir()): readonly Finding[] => [
  roomIn('data', data),
  roomIn('temporary files', temporary),
];

const modeOf = (path: string): number | undefined => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && stats.mode & 0o777;
};

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

const privacy = (path: string, wanted: string): readonly Finding[] => {
  const mode = modeOf(path);
  if (mode === undefined) return [];
  const isOpen = (mode & 0o077) !== 0;
  const found = `${path} has mode ${octal(mode)}${isOpen ? ', so other users can reach it' : ''}`;
  return [finding('permissions', isOpen ? 'warn' : 'ok', found, isOpen ? `chmod ${wanted} ${path}` : undefined)];
};

export interface Owned {
  readonly data: string;
  readonly store: StoreInspection | undefined;
  readonly keyFile: string;
  readonly uid: number | undefined;
}

/** Who can reach the data of this user. */
export const checkPermissions = ({ data, store, keyFile, uid }: Owned): readonly Finding[] => {
  const files = store?.kind === 'sqlite' ? [store.file, `${store.file}-wal`, `${store.file}-shm`] : [];
  const user =
    uid === 0
      ? finding('permissions', 'warn', 'this user is root', 'run workers and servers as another user')
      : finding('permissions', 'ok', `this user is not root${uid === undefined ? '' : ` (uid ${uid})`}`);
  return [user, ...privacy(data, '700'), ...files.flatMap((file) => privacy(file, '600')), ...privacy(keyFile, '600')];
};

export const keyFileIn = (data: string, env: Readonly<Record<string, string | undefined>>): string =>
  env.PERDURE_MASTER_KEY_FILE || join(data, 'master.key');

const heldBy = { processes: 'processes', memory: 'memory', cpu: 'CPU time' } as const;

/** Which protections of commands hold here. */
export const checkSandbox = (report: SandboxReport, agents: readonly Agent[]): readonly Finding[] => {
  const { problem, hasFilter, limits } = report;
  const off = agents.filter(({ tools, prepare }) =>
    [...tools.values(), ...(prepare ? [prepare.shell] : [])].some(({ confinement }) => confinement === 'off'),
  );
  const names = off.map(({ name }) => name).join(', ');
  const weak = 'let the worker write to its cgroup: systemd `Delegate=yes`; docs/shell.md says more';
  return [
    problem === undefined
      ? finding('sandbox', 'ok', 'bubblewrap works: commands run in a sandbox')
      : finding(
          'sandbox',
          'warn',
          `no sandbox, so a person is asked before each command: ${problem}`,
          'docs/shell.md says what each message means',
        ),
    ...Object.entries(heldBy).map(([name, shown]) => {
      const by = limits[name as keyof typeof heldBy];
      const isWeak = by === 'watch' || (name === 'memory' && by === 'rlimit');
      const how =
        by === 'watch'
          ? 'only watched'
          : `limited by ${by}${by === 'rlimit' && name !== 'processes' ? ', for each process' : ''}`;
      return finding('sandbox', isWeak ? 'warn' : 'ok', `${shown}: ${how}`, isWeak ? weak : undefined);
    }),
    finding('sandbox', 'ok', 'open files and file size: limited by rlimit; disk: watched'),
    ...(problem !== undefined
      ? []
      : [
          hasFilter
            ? finding('sandbox', 'ok', 'system calls: filtered by seccomp')
            : finding('sandbox', 'warn', 'system calls: not filtered', 'use a kernel with seccomp, on x64 or arm64'),
        ]),
    ...(names
      ? [finding('sandbox', 'warn', `the sandbox is off for ${names}`, "remove `sandbox: 'off'` of their shell")]
      : []),
  ];
};
