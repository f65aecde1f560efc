import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { TestServer } from '../support/servers/http-server.ts';

/** Closed with the test at the latest; that the other side ends it is no error. */
export const openSocket = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  onTestFinished(() => void socket.destroy());
  return socket;
};

/** Its head. */
export const requestFor = ({ server, keys }: TestServer, path: string, method = 'GET', headers = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\nAuthorization: Bearer ${keys.admin}\r\n${headers}\r\n`;

/** Until the other side ends it, or `patienceMs` are over. */
export const isEnded = async (socket: Socket, patienceMs = 10_000): Promise<boolean> => {
  const ended = new Promise<true>((resolve) => {
    for (const event of ['end', 'close']) socket.once(event, () => resolve(true));
  });
  return Promise.race([ended, sleep(patienceMs, false as const, { ref: false })]);
};

export interface RawAnswer {
  /** Of all answers that came. */
  readonly statuses: readonly number[];
  readonly isClosed: boolean;
}

/** Sends it, takes the answer and what else is sent in the same go, says goodbye, and waits until the other side has closed. */
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
