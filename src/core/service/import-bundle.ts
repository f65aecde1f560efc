import { PerdureError } from '../../schema/error.ts';
import { Uploads } from '../files/disk/uploads.ts';
import type { Imported, SessionCopy } from '../ports/store.ts';
import { CopiedStates } from './copied-states.ts';
import { type BundleItem, readBundle } from './read-bundle.ts';
import type { Scope } from './scope.ts';
import { ScratchFile } from './scratch-file.ts';

const needsBytes = (): PerdureError =>
  new PerdureError(
    'INVALID_INPUT',
    'an import needs the bytes of a bundle: pass a stream of them, such as createReadStream(file)',
  );

async function* bytesOf(bundle: AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of bundle) {
    if (!(chunk instanceof Uint8Array)) throw needsBytes();
    yield chunk;
  }
}

type Items = AsyncGenerator<BundleItem, void, void>;

/** Puts the blobs, which come first, and gives the first copy. */
const putBlobs = async ({ blobs }: Scope, items: Items): Promise<SessionCopy | undefined> => {
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

/** Reads and checks a bundle to its end, and keeps it to be read again. */
export const checkBundle = async (bundle: AsyncIterable<Uint8Array>): Promise<ScratchFile> => {
  if (typeof bundle?.[Symbol.asyncIterator] !== 'function') throw needsBytes();
  const kept = await ScratchFile.open();
  try {
    const states = new CopiedStates();
    for await (const item of readBundle(kept.keep(bytesOf(bundle)))) if ('copy' in item) states.add(item.copy);
    return kept;
  } catch (error) {
    await kept.close();
    throw error;
  }
};

/**
 * A bundle is checked before anything is written: what it comes from may be slow, and the store's other writers
 * must not wait for it. Then come its blobs, which nobody sees before an event names them, and all events in one transaction.
 */
export const importBundle = async (scope: Scope, bundle: AsyncIterable<Uint8Array>): Promise<Imported> => {
  const kept = await checkBundle(bundle);
  const items = readBundle(kept.read());
  try {
    const first = await putBlobs(scope, items);
    return await scope.store.importCopies(scope.workspace, copiesFrom(first, items));
  } finally {
    await items.return().finally(() => kept.close());
  }
};
