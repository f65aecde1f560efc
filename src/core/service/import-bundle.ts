import { PerdureError } from '../../schema/error.ts';
import type { Imported } from '../ports/store.ts';
import { CopiedStates } from './copied-states.ts';
import { readBundle } from './read-bundle.ts';
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

/**
 * A bundle is read and checked to its end before the transaction begins: what it comes from may be slow, and the store's other writers
 * must not wait for it.
 */
export const importBundle = async (scope: Scope, bundle: AsyncIterable<Uint8Array>): Promise<Imported> => {
  if (typeof bundle?.[Symbol.asyncIterator] !== 'function') throw needsBytes();
  const kept = await ScratchFile.open();
  try {
    const states = new CopiedStates();
    for await (const copy of readBundle(kept.keep(bytesOf(bundle)))) states.add(copy);
    return await scope.store.importCopies(scope.workspace, readBundle(kept.read()));
  } finally {
    await kept.close();
  }
};
