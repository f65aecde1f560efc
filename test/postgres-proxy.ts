import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * `pass` lets everything through. `lose-request` and `lose-answer` break the next connection that says or hears something, before the
 * server gets it or after it has answered, and go on as `afterwards`. `refuse` breaks all and lets none in.
 */
export type ProxyMode = 'pass' | 'lose-request' | 'lose-answer' | 'refuse';

export interface PostgresProxy {
  /** The same database, through the proxy. */
  readonly url: string;
  mode: ProxyMode;
  /** What follows on a loss. */
  afterwards: ProxyMode;
  close(): Promise<void>;
}

/** A network between a store and its server that loses what a test wants lost. */
export const startProxy = async (target: string): Promise<PostgresProxy> => {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const proxy = { mode: 'pass', afterwards: 'pass' } as { mode: ProxyMode; afterwards: ProxyMode };
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const drop = () => {
      client.destroy();
      upstream.destroy();
    };
    const forward = (from: Socket, to: Socket, losing: ProxyMode) => {
      sockets.add(from);
      from.on('error', drop).on('close', drop);
      from.on('data', (chunk) => {
        if (proxy.mode === losing) proxy.mode = proxy.afterwards;
        else if (proxy.mode !== 'refuse') {
          to.write(chunk);
          return;
        }
        drop();
      });
    };
    forward(client, upstream, 'lose-request');
    forward(upstream, client, 'lose-answer');
    if (proxy.mode === 'refuse') drop();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return Object.assign(proxy, {
    url: url.href,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  });
};
