import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { TestServer } from '../support/servers/http-server.ts';

/** Opens a socket that is closed after the test. The other side may end it without failing the test. */
export const openSocket = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  onTestFinished(() => void socket.destroy());
  return socket;
};

/** The request line and headers, with the admin key. */
export const requestFor = ({ server, keys }: TestServer, path: string, method = 'GET', headers = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\nAuthorization: Bearer ${keys.admin}\r\n${headers}\r\n`;

/** Whether the other side ends the socket within `patienceMs`. */
export const isEnded = async (socket: Socket, patienceMs = 10_000): Promise<boolean> => {
  const ended = new Promise<true>((resolve) => {
    for (const event of ['end', 'close']) socket.once(event, () => resolve(true));
  });
  return Promise.race([ended, sleep(patienceMs, false as const, { ref: false })]);
};

export interface RawAnswer {
  /** The status codes of all responses received. */
  readonly statuses: readonly number[];
  readonly isClosed: boolean;
}

/** Sends the bytes, collects all responses, half-closes the socket, and waits until the server has closed it. */
export const sendRaw = async (url: string, bytes: string, patienceMs = 10_000): Promise<RawAnswer> => {
  const socket = await openSocket(url);
  let text = '';
  const closed = new Promise<true>((resolve) => socket.on('close', () => resolve(true)));
  const answered = new Promise<void>((resolve) => {
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      resolve();
    });
    socket.on('end', () => socket.end());
  });
  socket.write(Buffer.from(bytes, 'latin1'));
  void answered.then(() => setTimeout(() => socket.end(), 100));
  const late = sleep(patienceMs, false as const, { ref: false });
  const isClosed = await Promise.race([closed, late]);
  socket.destroy();
  return { statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status)), isClosed };
};
