import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { askPostgres } from './ask-postgres.ts';
import type { PostgresAddress, PostgresReply, PostgresRequest } from './postgres-process.ts';

export interface PostgresServer extends PostgresAddress {
  /** Starts the stopped or killed server again, on the same port with the same data. */
  start(): Promise<void>;
  /** Stops the server and breaks its connections; the data remain. */
  stop(): Promise<void>;
  /** Sends SIGKILL to all processes of the server at once; the data remain as they are on disk. */
  kill(): Promise<void>;
  /** Ends the server and removes its data. */
  close(): Promise<void>;
}

async function ask(child: ChildProcess, request: PostgresRequest): Promise<PostgresReply> {
  const answered = new AbortController();
  const { signal } = answered;
  child.send(request);
  const [reply] = await Promise.race([
    once(child, 'message', { signal }),
    once(child, 'exit', { signal }).then(([code]) => [{ failed: `the PostgreSQL process exited with code ${code}` }]),
  ]);
  answered.abort();
  if ('failed' in reply) throw new Error(reply.failed);
  return reply;
}

/** Starts a separate PostgreSQL server. Most tests share the server of the whole run; see `createDatabase`. */
export async function startPostgres(): Promise<PostgresServer> {
  // Detached, so that Ctrl-C reaches the tests first and the server shuts down cleanly after them.
  const child = fork(fileURLToPath(new URL('./postgres-process.ts', import.meta.url)), {
    detached: true,
    execArgv: [],
  });
  const close = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.disconnect();
    await once(child, 'exit');
  };
  try {
    const reply = await ask(child, 'start');
    if (!('address' in reply)) throw new Error('the PostgreSQL process replied without an address');
    return {
      ...reply.address,
      start: () => ask(child, 'start').then(() => undefined),
      stop: () => ask(child, 'stop').then(() => undefined),
      kill: () => ask(child, 'kill').then(() => undefined),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Creates the only database of a server, and returns the URL for the ordinary role that owns it. */
export async function createOnlyDatabase({ adminUrl, host, port }: PostgresAddress): Promise<string> {
  await askPostgres(adminUrl, `create role app login nosuperuser nobypassrls password 'app'`);
  await askPostgres(adminUrl, 'create database app owner app');
  return `postgres://app:app@${host}:${port}/app`;
}
