import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Stage } from '../cluster/stage.ts';
import { type Figure, show } from '../figure.ts';
import { median, timeOf } from '../statistics.ts';
import type { Readers } from '../stream-readers.ts';

const start = (file: string, args: readonly string[] = []): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [] });

const answerOf = async <T>(child: ChildProcess, request?: object | string): Promise<T> => {
  const answered = once(child, 'message');
  if (request !== undefined) child.send(request);
  return (await answered)[0] as T;
};

interface Memory {
  readonly memory: { readonly rss: number; readonly heapUsed: number };
}

const maxAckRatio = 1.5;
const maxReaderBytes = 40_000;

/** Measures what readers of one session cost its server: memory, acknowledgements, and the reads of a neighbour. */
export const readersCost = async (stage: Stage): Promise<readonly Figure[]> => {
  const { library, place, runtime, quick } = stage;
  const counts = quick ? [200, 1000] : [1000, 5000];
  const server = start('../stream-server.ts', [library.url, place.address]);
  const readers = start('../stream-readers.ts');
  try {
    const { url } = await answerOf<{ url: string }>(server);
    const session = await runtime.sessions.open();
    const { token } = await runtime.keys.create({ role: 'admin' });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const ask = async (path: string, body?: object): Promise<void> => {
      const sent = body && { method: 'POST', body: JSON.stringify(body) };
      const response = await fetch(`${url}/v1/sessions/${session.id}${path}`, { headers, ...sent });
      if (!response.ok) throw new Error(await response.text());
      await response.arrayBuffer();
    };
    const append = (content: string) => timeOf(() => ask('/messages', { messages: [{ role: 'user', content }] }));
    let opened = 0;
    let marks = 0;
    /** Appends a message and waits until all readers have it, so that the next one finds a quiet server. */
    const deliver = async (content = ''): Promise<number> => {
      const mark = `mark ${++marks}.`;
      if (opened > 0) await answerOf(readers, { expect: mark });
      const received = opened > 0 ? once(readers, 'message') : undefined;
      const time = await append(`${content}${mark}`);
      await received;
      return time;
    };
    const acknowledged = async (): Promise<number> => {
      const times: number[] = [];
      for (let at = 0; at < (quick ? 20 : 50); at++) times.push(await deliver());
      return median(times);
    };
    await acknowledged();
    const alone = await acknowledged();
    const before = await answerOf<Memory>(server, 'memory');
    const figures: Figure[] = [];
    for (const count of counts) {
      const task: Readers = {
        port: Number(new URL(url).port),
        path: `/v1/sessions/${session.id}/events?after=${(await session.summary()).seq}`,
        headers: [`authorization: Bearer ${token}`],
        count: count - opened,
      };
      await answerOf(readers, task);
      opened = count;
      await deliver();
      const { memory } = await answerOf<Memory>(server, 'memory');
      const each = (memory.rss - before.memory.rss) / count;
      const heap = (memory.heapUsed - before.memory.heapUsed) / count;
      const beside = await acknowledged();
      figures.push(
        {
          name: `memory of each of ${count} readers`,
          value: each,
          unit: 'B',
          target: { atMost: maxReaderBytes },
          detail: `resident; ${show(heap, 'B')} of it in the heap`,
        },
        {
          name: `acknowledgement of an append with ${count} readers, times that with none`,
          value: beside / alone,
          unit: 'x',
          target: { atMost: maxAckRatio },
          detail: `${show(beside, 'ms')} against ${show(alone, 'ms')}`,
        },
      );
    }
    await runtime.workspaces.add('reader');
    const other = runtime.as({ workspace: 'reader', member: 'local', role: 'admin' });
    const own = await other.sessions.open();
    const key = await other.keys.create();
    const read = () =>
      timeOf(async () => {
        const its = { authorization: `Bearer ${key.token}` };
        await (await fetch(`${url}/v1/sessions/${own.id}/state`, { headers: its })).arrayBuffer();
      });
    await read();
    const quiet = await read();
    let isOver = false;
    const delivered = deliver('x'.repeat(100_000)).finally(() => {
      isOver = true;
    });
    const times: number[] = [];
    while (!isOver) times.push(await read());
    await delivered;
    figures.push({
      name: `the longest read of a neighbour while a message of 100 kB goes to ${opened} streams`,
      value: Math.max(...times),
      unit: 'ms',
      detail: `${times.length} reads; ${show(quiet, 'ms')} before`,
    });
    return figures;
  } finally {
    for (const child of [readers, server]) {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    }
  }
};
