import type { Environment } from './environment.ts';

/** What a command finds in its sandbox beside the system, which it can read. */
export interface Sandbox {
  readonly bwrap: string;
  /** The session's folder: written to, at its own path. */
  readonly folder: string;
  /** What is /tmp in there. */
  readonly temporary: string;
  /** Other paths that can be read. */
  readonly readable: readonly string[];
  /** Folders within the session's that are not for commands. */
  readonly hidden: readonly string[];
  readonly hasNetwork: boolean;
}

interface Mount {
  readonly path: string;
  readonly args: readonly string[];
}

/** What a home is for is the session's too. */
export const sandboxHome = '/tmp';

const system = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** By name, since root reads all of /etc: it owns the files, in a sandbox too. */
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
    // There are settings of the whole host in there, which belong to root and so to a sandbox that root has started.
    { path: '/proc', args: ['--proc', '/proc', '--remount-ro', '/proc'] },
    { path: '/dev', args: ['--dev', '/dev', '--remount-ro', '/dev'] },
    { path: '/dev/shm', args: ['--size', String(shmBytes), '--tmpfs', '/dev/shm'] },
    { path: '/tmp', args: ['--bind', temporary, '/tmp'] },
    ...readable.map(readOnly),
    { path: folder, args: ['--bind', folder, folder] },
    ...hidden.map((path) => ({ path, args: ['--tmpfs', path, '--remount-ro', path] })),
  ];
  // What lies within another is put on top of it.
  return mounts.toSorted((a, b) => depthOf(a.path) - depthOf(b.path));
};

/** For bwrap: namespaces of its own, no capability, and no way to new ones. */
export const sandboxArguments = (sandbox: Sandbox, environment: Environment): readonly string[] => [
  ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...(sandbox.hasNetwork ? [] : ['--unshare-net']),
  ...['--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
  ...mountsOf(sandbox).flatMap(({ args }) => args),
  ...['--remount-ro', '/', '--chdir', sandbox.folder, '--clearenv'],
  ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
];
