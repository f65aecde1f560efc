import { jsonText } from './json-text.ts';
import type { EventSource, Frame } from './route.ts';

/** Limits of the buffer for a client that reads more slowly than events are written. */
const maxWaitingBytes = 256 * 1024;

const encoder = new TextEncoder();

const encode = ({ id, event, data }: Frame): Uint8Array =>
  encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${jsonText(data)}\n\n`);

/** Frames of shared events. Followers of a session share the object of an event, and so its encoding. */
const encodings = new WeakMap<object, Uint8Array>();

const bytesOf = (frame: Frame): Uint8Array => {
  if (!frame.isShared) return encode(frame);
  const known = encodings.get(frame.data as object);
  if (known) return known;
  const bytes = encode(frame);
  encodings.set(frame.data as object, bytes);
  return bytes;
};

export interface StreamOptions {
  readonly signal: AbortSignal;
  readonly beatMs: number;
  /** Called at every heartbeat, and before sending after a pause. If it returns false, the stream ends. */
  readonly mayGoOn: () => Promise<boolean>;
  readonly onFailure: (error: unknown) => Frame;
  /** Called once when the stream has ended, for whatever reason. */
  readonly onEnd: () => void;
}

const openFrame = encoder.encode(': open\n\n');
const beatFrame = encoder.encode(': beat\n\n');

/** Buffer of one client. While it is full, the source is not read. */
class Outbox {
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #wake: (() => void) | undefined;
  #room: (() => void) | undefined;
  isDone = false;

  async put(chunk: Uint8Array): Promise<void> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.ring();
    if (this.#bytes < maxWaitingBytes || this.isDone) return;
    await new Promise<void>((resolve) => {
      this.#room = resolve;
    });
  }

  /** Sends a heartbeat, which keeps an idle connection open. Does nothing while frames are waiting to be sent. */
  beat(): void {
    if (this.#bytes === 0) void this.put(beatFrame);
  }

  ring(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  end(): void {
    this.isDone = true;
    this.ring();
    this.#room?.();
  }

  /** Returns the next chunk to send, or undefined at the end of the stream. */
  async take(): Promise<Uint8Array | undefined> {
    while (this.#bytes === 0) {
      if (this.isDone) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#bytes = 0;
    this.#room?.();
    this.#room = undefined;
    return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
  }
}

const recheckMs = 1000;

export const eventStream = (source: EventSource, options: StreamOptions): Response => {
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const outbox = new Outbox();
  let checkedAt = performance.now();
  const check = async (): Promise<void> => {
    checkedAt = performance.now();
    if (!(await options.mayGoOn())) ending.abort();
  };
  const pump = async (): Promise<void> => {
    try {
      for await (const frame of source(signal)) {
        if (performance.now() - checkedAt > recheckMs) await check();
        if (signal.aborted) return;
        await outbox.put(bytesOf(frame));
      }
    } catch (error) {
      if (!signal.aborted) await outbox.put(bytesOf(options.onFailure(error)));
    }
  };
  const beat = setInterval(() => {
    check().then(
      () => outbox.beat(),
      () => ending.abort(),
    );
  }, options.beatMs);
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    clearInterval(beat);
    ending.abort();
    outbox.end();
    options.onEnd();
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const body = new ReadableStream<Uint8Array>(
    {
      start: () => {
        void outbox.put(openFrame);
        void pump().finally(end);
      },
      pull: async (controller) => {
        const chunk = await outbox.take();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });
};
