import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** What comes out of a transform when `source` is fed into it. A fault on either side ends the iteration with it; a reader may stop early. */
export async function* transformed(
  source: AsyncIterable<Uint8Array | string>,
  transform: Duplex,
): AsyncGenerator<Uint8Array, void, void> {
  const stopped = new AbortController();
  const feeding = pipeline(Readable.from(source, { objectMode: false }), transform, { signal: stopped.signal });
  // The transform is destroyed with the same error, which the iteration below throws.
  feeding.catch(() => undefined);
  try {
    for await (const chunk of transform) yield chunk;
    await feeding;
  } finally {
    stopped.abort();
  }
}
