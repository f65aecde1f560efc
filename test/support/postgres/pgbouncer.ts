import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../servers/free-port.ts';

export interface Pgbouncer {
  /** The URL of the same database, through the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

const answers = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

/** PgBouncer refuses to run as root, so it runs as the user `nobody`. */
const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/**
 * Starts a real PgBouncer. All clients share `poolSize` server connections, each of which is assigned to a client for
 * one transaction or one session.
 */
export const startPgbouncer = async (
  target: string,
  poolSize: number,
  mode: 'transaction' | 'session' = 'transaction',
): Promise<Pgbouncer> => {
  const { hostname, port: targetPort, username, password, pathname } = new URL(target);
  const folder = await mkdtemp(join(tmpdir(), 'perdure-pgbouncer-'));
  await chmod(folder, 0o755);
  const port = await freePort();
  const config = join(folder, 'pgbouncer.ini');
  await writeFile(
    config,
    `[databases]
* = host=${hostname} port=${targetPort} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 500
server_round_robin = 1
`,
    { mode: 0o644 },
  );
  const said: string[] = [];
  const path = `${process.env.PATH}:/usr/sbin`;
  const child = spawn('pgbouncer', [config], {
    ...nobody,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit').catch((error: unknown) => {
    throw new Error('this test needs pgbouncer: apt-get install pgbouncer', { cause: error });
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => said.push(String(text)));
  const isUp = async () => {
    while (!(await answers(port))) await pause(20);
  };
  await Promise.race([
    isUp(),
    ended.then(() => {
      throw new Error(`pgbouncer ended: ${said.join('')}`);
    }),
  ]);
  return {
    url: Object.assign(new URL(target), { port: String(port), pathname }).href,
    close: async () => {
      child.kill();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
};
