import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventStream, type StreamOptions } from './event-stream.ts';
import type { EventSource, Frame } from './route.ts';

const start = (source: EventSource, options: Partial<StreamOptions> = {}) =>
  eventStream(source, {
    signal: new AbortController().signal,
    beatMs: 1000,
    mayGoOn: async () => true,
    onFailure: () => ({ event: 'error', data: {} }),
    onEnd: () => {},
    ...options,
  });

/** Far more frames than the server buffers for a client. */
const many = 1000;
async function* framesInto(made: { count: number; ended?: boolean }, signal: AbortSignal): AsyncGenerator<Frame> {
  try {
    while (!signal.aborted && made.count < many)
      yield { id: String(++made.count), event: 'event', data: 'x'.repeat(10_000) };
  } finally {
    made.ended = true;
  }
}

test('[HTTP23] the server stops reading the source while its client does not read', async () => {
  const made = { count: 0 };
  const response = start((signal) => framesInto(made, signal));
  const reader = response.body!.getReader();
  await reader.read();
  await turnOfLoop();
  const read = made.count;
  expect(read).toBeLessThan(60);
  await turnOfLoop();
  expect(made.count).toBe(read);
  await reader.cancel();
});

test('[HTTP8] heartbeats do not displace frames that wait for a slow client', async () => {
  const sent = 100;
  const frames = async function* (): AsyncGenerator<Frame> {
    for (let at = 1; at <= sent; at++) yield { id: String(at), event: 'event', data: 'x'.repeat(10_000) };
  };
  let beat = Promise.withResolvers<void>();
  const mayGoOn = async () => {
    beat.resolve();
    beat = Promise.withResolvers();
    return true;
  };
  const response = start(frames, { beatMs: 5, mayGoOn, onEnd: () => beat.resolve() });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += read.value;
    await beat.promise;
    await turnOfLoop();
  }
  expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toEqual(
    Array.from({ length: sent }, (_, at) => at + 1),
  );
});

test('[HTTP22, HTTP30] heartbeats keep an idle stream open', async () => {
  const silent = async function* (signal: AbortSignal): AsyncGenerator<Frame> {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const response = start(silent, { beatMs: 5 });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const read: (string | undefined)[] = [];
  while (read.length < 3) read.push((await reader.read()).value);
  expect(read).toEqual([': open\n\n', ': beat\n\n', ': beat\n\n']);
  await reader.cancel();
});

test('[HTTP22, HTTP30] when a client disconnects, the source ends and the stream is released', async () => {
  const made = { count: 0, ended: false };
  let ended = 0;
  const response = start((signal) => framesInto(made, signal), { onEnd: () => ended++ });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await expect.poll(() => made.ended).toBe(true);
  expect(ended).toBe(1);
});

test('[HTTP9] a stream whose key is no longer valid ends at the next heartbeat', async () => {
  let counts = true;
  const silent = async function* (signal: AbortSignal): AsyncGenerator<Frame> {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const response = start(silent, { beatMs: 20, mayGoOn: async () => counts });
  const reader = response.body!.getReader();
  await reader.read();
  counts = false;
  const rest = async () => {
    for (;;) if ((await reader.read()).done) return 'ended';
  };
  expect(await rest()).toBe('ended');
});

test('[HTTP8, HTTP23] frames have an id, an event and data; pieces have no id', async () => {
  const response = start(async function* (): AsyncGenerator<Frame> {
    yield { id: '1', event: 'message', data: { text: 'two\nlines' } };
    yield { event: 'text', data: { text: 'as it is written' } };
  });
  const text = await response.text();
  expect(text).toContain('id: 1\nevent: message\ndata: {"text":"two\\nlines"}\n\n');
  expect(text).toContain('\n\nevent: text\ndata: {"text":"as it is written"}\n\n');
});

test('[WAKE12] the frame of a shared event is encoded once for all streams', async () => {
  let encoded = 0;
  const data = { toJSON: () => ({ count: ++encoded }) };
  const frames = async function* (): AsyncGenerator<Frame> {
    yield { id: '1', event: 'message', data, isShared: true };
  };
  const texts = await Promise.all([start(frames), start(frames), start(frames)].map((response) => response.text()));
  expect(encoded).toBe(1);
  for (const text of texts) expect(text).toContain('data: {"count":1}');
});
