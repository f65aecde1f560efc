import type { Environment } from './environment.ts';

/** What a command can access in its sandbox, beside the read-only system. */
export interface Sandbox {
  readonly bwrap: string;
  /** The session's folder, writable and at its own path. */
  readonly folder: string;
  /** The folder that is mounted as /tmp. */
  readonly temporary: string;
  /** Other readable paths. */
  readonly readable: readonly string[];
  /** Folders inside the session's folder that are hidden from commands. */
  readonly hidden: readonly string[];
  readonly hasNetwork: boolean;
  /** Whether a seccomp filter applies. */
  readonly hasFilter: boolean;
}

interface Mount {
  readonly path: string;
  readonly args: readonly string[];
}

/** The home folder in a sandbox. It is private to the session. */
export const sandboxHome = '/tmp';

const system = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** Single files of /etc, because a sandbox that root started could read all of it. */
const ofEtc = [
  ...['passwd', 'group', 'nsswitch.conf', 'host.conf', 'hosts', 'resolv.conf', 'services', 'protocols'],
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'localtime', 'timezone', 'mime.types'],
  ...['ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs', 'pki/ca-trust', 'crypto-policies'],
].map((name) => `/etc/${name}`);
const shmBytes = 64 * 1024 ** 2;

const readOnly = (path: string): Mount => ({ path, args: ['--ro-bind-try', path, path] });

const depthOf = (path: string): number => path.split('/').filter(Boolean).length;

const mountsOf = ({ folder, temporary, readable, hidden }: Sandbox): readonly Mount[] => {
  const mounts: readonly Mount[] = [
    ...[...system, ...ofEtc].map(readOnly),
    // Read-only, because a sandbox that root started could otherwise change settings of the host.
    { path: '/proc', args: ['--proc', '/proc', '--remount-ro', '/proc'] },
    { path: '/dev', args: ['--dev', '/dev', '--remount-ro', '/dev'] },
    { path: '/dev/shm', args: ['--size', String(shmBytes), '--tmpfs', '/dev/shm'] },
    { path: '/tmp', args: ['--bind', temporary, '/tmp'] },
    ...readable.map(readOnly),
    { path: folder, args: ['--bind', folder, folder] },
    ...hidden.map((path) => ({ path, args: ['--tmpfs', path, '--remount-ro', path] })),
  ];
  // Mounts deeper paths later, so that they lie on top.
  return mounts.toSorted((a, b) => depthOf(a.path) - depthOf(b.path));
};

/** The arguments of bwrap: own namespaces, no capabilities, and no way to gain new ones. */
export const sandboxArguments = (sandbox: Sandbox, environment: Environment): readonly string[] => [
  ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...(sandbox.hasNetwork ? [] : ['--unshare-net']),
  ...['--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
  ...mountsOf(sandbox).flatMap(({ args }) => args),
  ...['--remount-ro', '/', '--chdir', sandbox.folder, '--clearenv'],
  ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
];
