import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { ServerProcess } from '../slow/server-process.ts';
import { SseReader } from '../slow/sse-reader.ts';

const isSoak = Number(process.env.PERDURE_KILLS) >= 500;
const readers = isSoak ? 500 : 100;
const writers = 4;
const perWriter = isSoak ? 100 : 25;
const events = 1 + writers * perWriter;
const mebibyte = 1024 * 1024;

const write = async (server: ServerProcess): Promise<void> => {
  const one = async (writer: number): Promise<void> => {
    for (let at = 0; at < perWriter; at++) {
      await server.append(`${writer}.${at} ${'x'.repeat(randomInt(1, 2000))}`, `${writer}.${at}`);
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => one(writer)));
};

/** Measures the peak resident memory of a server process. */
const watchMemory = (server: ServerProcess): { stop(): number } => {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, server.residentBytes());
  }, 100);
  return {
    stop: () => {
      clearInterval(timer);
      return most;
    },
  };
};

const follow = async (server: ServerProcess): Promise<readonly SseReader[]> => {
  const all = Array.from({ length: readers }, () => new SseReader(server));
  await Promise.all([...all.map((reader) => reader.readTo(events)), write(server)]);
  return all;
};

const expectAllSeen = (all: readonly SseReader[]): void => {
  expect(all.flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(all.every(({ last }) => last >= events)).toBe(true);
  const connections = all.reduce((sum, reader) => sum + reader.connections, 0);
  expect(connections).toBeGreaterThan(isSoak ? 2 * readers : readers);
};

test('[HTTP8] readers that connect and disconnect, 500 in the soak, see every event once and in order, without unbounded server memory', async () => {
  const server = await ServerProcess.start();
  await server.append('warm-up', 'warm-up');
  const before = { resident: server.residentBytes(), used: await server.usedBytes() };
  const memory = watchMemory(server);
  const started = performance.now();
  expectAllSeen(await follow(server));
  const most = memory.stop();
  const seconds = (performance.now() - started) / 1000;
  const mib = (bytes: number) => Math.round(bytes / mebibyte);
  console.log(
    `${readers} readers, ${events} events in ${seconds.toFixed(1)} s; resident ${mib(before.resident)} to ${mib(most)} MiB`,
  );
  expect(most - before.resident).toBeLessThan(800 * mebibyte);
  await expect
    .poll(async () => (await server.usedBytes()) - before.used, { timeout: 20_000 })
    .toBeLessThan(50 * mebibyte);
});

test('[HTTP8, LOG2] readers see every event once and in order although the server is killed three times', async () => {
  const server = await ServerProcess.start();
  const kill = async (): Promise<void> => {
    for (const share of [0.2, 0.5, 0.8]) {
      await expect.poll(() => server.appended, { timeout: 300_000 }).toBeGreaterThan(share * events);
      await server.kill();
      await server.start();
    }
  };
  const [all] = await Promise.all([follow(server), kill()]);
  expectAllSeen(all);
});
