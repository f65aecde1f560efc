import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * `pass` lets everything through. `lose-request` breaks the next connection that asks something, before the server hears it;
 * `lose-answer` breaks the next one whose transaction has ended, before the client hears that; both go on as `afterwards`. `refuse` breaks
 * all and lets none in. `swallow` breaks none, and none can be ended: what is said on one is lost,
 * and so is all that is said on it later.
 */
export type ProxyMode = 'pass' | 'lose-request' | 'lose-answer' | 'refuse' | 'swallow';

export interface PostgresProxy {
  /** The same database, through the proxy. */
  readonly url: string;
  mode: ProxyMode;
  /** What follows on a loss. */
  afterwards: ProxyMode;
  /** How many there were. */
  readonly connections: number;
  /** How many of them swallow. */
  readonly swallowing: number;
  close(): Promise<void>;
}

/** The message ReadyForQuery, outside a transaction. */
const readyAndIdle = Buffer.from('Z\0\0\0\x05I', 'latin1');

/** A network between a store and its server that loses what a test wants lost. */
export const startProxy = async (target: string): Promise<PostgresProxy> => {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const proxy = { mode: 'pass' as ProxyMode, afterwards: 'pass' as ProxyMode, connections: 0, swallowing: 0 };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    proxy.connections++;
    const upstream = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    let swallows = false;
    const drop = () => {
      client.destroy();
      upstream.destroy();
    };
    const forward = (from: Socket, to: Socket, isLost: (chunk: Buffer) => boolean) => {
      sockets.add(from);
      from.on('error', drop).on('close', drop);
      from.on('end', () => {
        if (!swallows && proxy.mode !== 'swallow') to.end();
      });
      from.on('data', (chunk) => {
        if (proxy.mode === 'swallow' && !swallows) {
          swallows = true;
          proxy.swallowing++;
        }
        if (swallows) return;
        if (isLost(chunk)) proxy.mode = proxy.afterwards;
        else if (proxy.mode !== 'refuse') {
          to.write(chunk);
          return;
        }
        drop();
      });
    };
    forward(client, upstream, () => proxy.mode === 'lose-request');
    forward(upstream, client, (chunk) => proxy.mode === 'lose-answer' && chunk.subarray(-6).equals(readyAndIdle));
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
