import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * `pass` forwards everything. `lose-request` breaks the next connection that sends a request, before the server
 * receives it. `lose-retry` does so to the next connection that sends a request after the server rejected one on it,
 * whatever other connections send meanwhile. `lose-answer` breaks the next connection whose transaction has ended, before the client learns of it.
 * After either loss the mode becomes `afterwards`. `refuse` breaks all connections and accepts no new ones. `swallow`
 * keeps connections open but silently drops all traffic on them, from the first chunk on and for good; it does not
 * forward their end either.
 */
export type ProxyMode = 'pass' | 'lose-request' | 'lose-retry' | 'lose-answer' | 'refuse' | 'swallow';

type Side = 'client' | 'server';

export interface Cut {
  readonly from: Side;
  messages: number;
}

export interface PostgresProxy {
  /** The URL of the same database, through the proxy. */
  readonly url: string;
  mode: ProxyMode;
  /** The mode that follows a loss or a cut. */
  afterwards: ProxyMode;
  /**
   * Breaks a connection after `messages` more messages from one side, a few bytes into the next message if that has
   * arrived. The mode then becomes `afterwards`.
   */
  cut: Cut | undefined;
  /** Number of connections opened so far. */
  readonly connections: number;
  /** Number of connections whose traffic is dropped. */
  readonly swallowing: number;
  close(): Promise<void>;
}

/** The message ReadyForQuery, sent outside a transaction. */
const readyAndIdle = Buffer.from('Z\0\0\0\x05I', 'latin1');

/** The severity of an ErrorResponse, which no setting translates. */
const rejection = Buffer.from('VERROR\0', 'latin1');

const headerBytes = 5;

/**
 * Finds the ends of messages, which may span chunks. Each message has a one-byte type and a length that excludes the
 * type.
 */
const messageEnds = () => {
  let end = 0;
  return (chunk: Buffer): readonly number[] => {
    const ends: number[] = [];
    while (end <= chunk.length) {
      if (end > 0) ends.push(end);
      if (end + headerBytes > chunk.length) break;
      end += 1 + chunk.readInt32BE(end + 1);
    }
    end = Math.max(0, end - chunk.length);
    return ends;
  };
};

/** A proxy between a store and its server that drops the messages that a test chooses. */
export const startProxy = async (target: string): Promise<PostgresProxy> => {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const proxy = {
    mode: 'pass' as ProxyMode,
    afterwards: 'pass' as ProxyMode,
    cut: undefined as Cut | undefined,
    connections: 0,
    swallowing: 0,
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    proxy.connections++;
    const upstream = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    let swallows = false;
    let isRejected = false;
    const drop = () => {
      client.destroy();
      upstream.destroy();
    };
    const forward = (side: Side, from: Socket, to: Socket, isLost: (chunk: Buffer) => boolean) => {
      sockets.add(from);
      let endsIn: ReturnType<typeof messageEnds> | undefined;
      /** How many bytes of the chunk to forward; undefined for all. */
      const cutIn = (chunk: Buffer): number | undefined => {
        if (proxy.cut?.from !== side) return undefined;
        endsIn ??= messageEnds();
        const ends = endsIn(chunk);
        const last = proxy.cut.messages === 0 ? 0 : ends[proxy.cut.messages - 1];
        if (last === undefined) proxy.cut.messages -= ends.length;
        return last === undefined ? undefined : Math.min(chunk.length, last + 3);
      };
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
        const cutAt = cutIn(chunk);
        if (cutAt !== undefined) {
          proxy.cut = undefined;
          proxy.mode = proxy.afterwards;
          from.pause();
          to.end(chunk.subarray(0, cutAt), drop);
          return;
        }
        if (isLost(chunk)) proxy.mode = proxy.afterwards;
        else if (proxy.mode !== 'refuse') {
          to.write(chunk);
          return;
        }
        drop();
      });
    };
    const losesRequest = () => proxy.mode === 'lose-request' || (proxy.mode === 'lose-retry' && isRejected);
    forward('client', client, upstream, losesRequest);
    forward('server', upstream, client, (chunk) => {
      isRejected ||= chunk.includes(rejection);
      return proxy.mode === 'lose-answer' && chunk.subarray(-6).equals(readyAndIdle);
    });
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
