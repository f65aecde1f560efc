import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { PerdureError } from '../../schema/error.ts';
import { timerMs } from '../../schema/timer-limit.ts';
import { maxHeaders } from './refuse-flood.ts';

/** Time limits after which a connection is closed. */
export interface Timeouts {
  /** Until the head of a request has arrived. */
  readonly headMs: number;
  /** Until the whole request has arrived. */
  readonly requestMs: number;
  /** While data waits to be sent and the client does not read it. */
  readonly stallMs: number;
}

export const defaultTimeouts: Timeouts = { headMs: 10_000, requestMs: 300_000, stallMs: 60_000 };
export const defaultDrainMs = 10_000;
const headerBytes = 16 * 1024;
/** Interval at which a stopping server closes idle connections. */
const idleMs = 20;

export interface HttpServer {
  readonly url: string;
  /** Refuses new requests, ends the streams and waits for requests under way. Idempotent. */
  stop(): Promise<void>;
}

export interface ListenOptions {
  /** The address to listen at. */
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** How long a stopping server waits for requests under way. */
  readonly drainMs?: number | undefined;
  /** Time limits after which a connection is closed. */
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** Called when the server begins to stop, so that streams end. */
  readonly onStop?: (() => void) | undefined;
}

const adviceOn = (code = ''): string => {
  if (code === 'EACCES') return 'give a port that this user may bind, such as one above 1023';
  if (code === 'ERR_SOCKET_BAD_PORT') return 'give a port up to 65535';
  return 'give an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them';
};

const bind = async (server: NetServer, host: string, port: number): Promise<number> => {
  const failed = once(server, 'error').then(([error]) => {
    throw error;
  });
  try {
    server.listen(port, host);
    await Promise.race([once(server, 'listening'), failed]);
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === 'EADDRINUSE') {
      throw new PerdureError('INVALID_INPUT', `port ${port} is in use: give another, or 0 for any free port`, {
        cause,
        details: { port },
      });
    }
    throw new PerdureError(
      'INVALID_INPUT',
      `cannot listen at ${host}${port === 0 ? '' : `, port ${port}`} (${code}): ${adviceOn(code)}`,
      { cause, details: { host } },
    );
  }
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
};

/** Checks that a server could listen at this address, and otherwise fails with the same error as starting one. */
export const checkListening = async (host: string, port: number): Promise<void> => {
  const server = createServer();
  await bind(server, host, port);
  server.close();
  await once(server, 'close');
};

export const nameOfHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Serves `fetch` with limits on the size and duration of requests. */
export const listenHttp = async (
  fetch: (request: Request, bindings: object) => unknown,
  { host, port, drainMs = defaultDrainMs, timeouts, onStop }: ListenOptions,
): Promise<HttpServer> => {
  const { headMs, requestMs, stallMs } = { ...defaultTimeouts, ...timeouts };
  const server = createAdaptorServer({
    fetch,
    serverOptions: {
      maxHeaderSize: headerBytes,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: timerMs(headMs / 2),
      keepAliveTimeout: 5000,
      insecureHTTPParser: false,
    },
  }) as Server;
  server.timeout = timerMs(stallMs);
  server.on('request', (_, response) => {
    response.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) socket.destroy(); // with nothing left to send, the server is the slow side
    });
  });
  server.maxHeadersCount = maxHeaders + 1;
  const bound = await bind(server, host, port);
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    onStop?.();
    const idle = setInterval(() => server.closeIdleConnections(), idleMs);
    const late = setTimeout(() => server.closeAllConnections(), timerMs(drainMs));
    await closed;
    clearTimeout(late);
    clearInterval(idle);
  };
  return {
    url: `http://${nameOfHost(host)}:${bound}`,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
};
