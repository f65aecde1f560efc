import { once } from 'node:events';
import { expect, test } from 'vitest';
import { openSocket } from '../hostile/raw-socket.ts';
import { ServerProcess } from './server-process.ts';

const mebibyte = 1024 * 1024;
const silentReaders = 5;
const appended = 100;

test('[HTTP23] readers that stop reading while 100 MiB are appended use bounded memory in the server', async () => {
  const server = await ServerProcess.start();
  const text = 'x'.repeat(mebibyte);
  for (let at = 0; at < 10; at++) await server.append(text, `warm-up.${at}`);
  for (let at = 0; at < silentReaders; at++) {
    const socket = await openSocket(server.url);
    const head = `GET ${server.session}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.key}\r\n\r\n`;
    socket.write(head);
    await once(socket, 'readable');
  }
  const before = { used: await server.usedBytes(), resident: server.residentBytes() };
  for (let at = 0; at < appended; at++) await server.append(text, `${at}`);
  const grown = { used: (await server.usedBytes()) - before.used, resident: server.residentBytes() - before.resident };
  console.log(
    `${appended} MiB appended beside ${silentReaders} silent readers: used ${Math.round(grown.used / mebibyte)} MiB more, resident ${Math.round(grown.resident / mebibyte)} MiB more`,
  );
  expect(grown.used).toBeLessThan(40 * mebibyte);
  expect(grown.resident).toBeLessThan(300 * mebibyte);
});
