import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../servers/free-port.ts';
import { askPostgres } from './ask-postgres.ts';
import type { PostgresAddress } from './postgres-process.ts';

const home = '/usr/lib/postgresql';
const releasesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    throw new Error(`${folder} is missing: install Debian's PostgreSQL with \`apt-get install postgresql\``);
  }
};

/** PostgreSQL refuses to run as root. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export interface DebianPostgres extends PostgresAddress {
  /** The release, such as `15`. */
  readonly release: string;
  close(): Promise<void>;
}

/** Starts the oldest PostgreSQL that Debian's packages installed on this machine. */
export async function startDebianPostgres(): Promise<DebianPostgres> {
  const release = [...releasesIn(home)].sort((a, b) => Number(a) - Number(b))[0]!;
  const folder = mkdtempSync(join(tmpdir(), 'perdure-debian-postgres-'));
  if (nobody.uid !== undefined) chownSync(folder, nobody.uid, nobody.gid);
  const binary = (name: string): string => join(home, release, 'bin', name);
  const data = join(folder, 'data');
  const flags = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  await promisify(execFile)(binary('initdb'), flags, { ...nobody, cwd: folder });
  const [host, port] = ['127.0.0.1', await freePort()];
  const settings = [`listen_addresses=${host}`, `port=${port}`, 'unix_socket_directories=', 'max_connections=300'];
  const server = spawn(binary('postgres'), ['-D', data, ...settings.flatMap((each) => ['-c', each])], {
    ...nobody,
    cwd: folder,
    stdio: 'ignore',
  });
  const ended = once(server, 'exit');
  const close = async (): Promise<void> => {
    server.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const adminUrl = `postgres://postgres@${host}:${port}/postgres`;
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ${release} exited with code ${server.exitCode}`);
    const isUp = await askPostgres(adminUrl, 'select 1').then(
      () => true,
      () => false,
    );
    if (isUp) return { host, port, adminUrl, release, close };
    await pause(50);
  }
}
