import { once } from 'node:events';
import type { Duplex } from 'node:stream';

const feed = async (source: AsyncIterable<Uint8Array | string>, transform: Duplex, stopped: AbortSignal) => {
  try {
    for await (const chunk of source) {
      if (!transform.write(chunk)) await once(transform, 'drain', { signal: stopped });
    }
    transform.end();
  } catch (error) {
    transform.destroy(error as Error);
    throw error;
  }
};

/**
 * Yields the output of a transform that is fed with `source`. An error of the source or the transform ends the
 * iteration with that error. A reader may stop early.
 */
export async function* transformed(
  source: AsyncIterable<Uint8Array | string>,
  transform: Duplex,
): AsyncGenerator<Uint8Array, void, void> {
  const stopped = new AbortController();
  const feeding = feed(source, transform, stopped.signal);
  // The transform is destroyed with the same error, which the iteration below throws.
  feeding.catch(() => undefined);
  try {
    // The iterator does not destroy the transform at its end, because the writing side may finish a moment later and
    // is awaited below.
    yield* transform.iterator({ destroyOnReturn: false });
    await feeding;
  } finally {
    stopped.abort();
    transform.destroy();
  }
}
