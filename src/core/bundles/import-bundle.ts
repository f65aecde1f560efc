import { PerdureError } from '../../schema/error.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { CallerAccess, FilesAccess, FollowAccess } from '../engine/scope.ts';
import { Uploads } from '../files/disk/uploads.ts';
import type { Imported, SessionCopy } from '../ports/store.ts';
import { CopiedStates } from './copied-states.ts';
import { ImportOptions } from './import-options.ts';
import { type BundleItem, importEnded, type ReadBundleOptions, readBundle } from './read-bundle.ts';
import { ScratchFile } from './scratch-file.ts';

const needsBytes = (): PerdureError =>
  new PerdureError(
    'INVALID_INPUT',
    'an import needs the bytes of a bundle: pass a stream of them, such as createReadStream(file)',
  );

/** Returns the next item. Rejects when the signal aborts, because a source may never deliver another item. */
const nextOf = async <T>(items: AsyncIterator<T>, signal: AbortSignal | undefined): Promise<IteratorResult<T>> => {
  if (!signal) return items.next();
  const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T>>();
  const end = () => reject(importEnded());
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  items.next().then(resolve, reject);
  return promise.finally(() => signal.removeEventListener('abort', end));
};

async function* bytesOf(bundle: AsyncIterable<unknown>, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const chunks = bundle[Symbol.asyncIterator]();
  try {
    for (let next = await nextOf(chunks, signal); !next.done; next = await nextOf(chunks, signal)) {
      if (!(next.value instanceof Uint8Array)) throw needsBytes();
      yield next.value;
    }
  } finally {
    // Not awaited: a source that is slow to deliver its next bytes is also slow to end.
    chunks.return?.()?.catch(() => undefined);
  }
}

type Items = AsyncGenerator<BundleItem, void, void>;

/** Stores the blobs, which are first in the bundle, and returns the first session copy. */
const putBlobs = async ({ blobs }: FilesAccess, items: Items): Promise<SessionCopy | undefined> => {
  const uploads = new Uploads(blobs);
  for (let next = await items.next(); ; next = await items.next()) {
    if (!next.done && 'blob' in next.value) {
      await uploads.add(next.value.blob);
      continue;
    }
    await uploads.finish();
    return next.done ? undefined : (next.value as { copy: SessionCopy }).copy;
  }
};

async function* copiesFrom(first: SessionCopy | undefined, items: Items): AsyncGenerator<SessionCopy, void, void> {
  if (first) yield first;
  for await (const item of items) if ('copy' in item) yield item.copy;
}

/** Reads and checks a bundle to its end, and keeps its bytes, so that they can be read again. */
export const checkBundle = async (
  bundle: AsyncIterable<Uint8Array>,
  options: ReadBundleOptions & ImportOptions = {},
): Promise<ScratchFile> => {
  if (typeof bundle?.[Symbol.asyncIterator] !== 'function') throw needsBytes();
  const kept = await ScratchFile.open();
  try {
    const states = new CopiedStates(options);
    const items = readBundle(kept.keep(bytesOf(bundle, options.signal)), options);
    for await (const item of items) if ('copy' in item) states.add(item.copy);
    return kept;
  } catch (error) {
    await kept.close();
    throw error;
  }
};

/**
 * Checks the bundle before anything is written, because a slow source must not block other writers of the store. Then
 * stores the blobs, which are invisible until an event names them. Then writes all events in one transaction.
 */
export const importBundle = async (
  scope: FollowAccess & FilesAccess & Pick<CallerAccess, 'caller'>,
  bundle: AsyncIterable<Uint8Array>,
  options: ImportOptions = {},
): Promise<Imported> => {
  const { signal = scope.closing, ...limits } = parseInput('the options of the import', ImportOptions, options);
  const ending = { ...limits, signal: AbortSignal.any([scope.closing, signal]) };
  const kept = await checkBundle(bundle, ending);
  const items = readBundle(kept.read(), { ...ending, givesBlobs: true });
  try {
    const first = await putBlobs(scope, items);
    return await scope.store.importCopies(scope.workspace, copiesFrom(first, items), scope.caller.member);
  } finally {
    await items.return().finally(() => kept.close());
  }
};
