import { PerdureError } from '../../schema/error.ts';
import type { Imported } from '../ports/store.ts';
import { CopiedStates } from './copied-states.ts';
import { readBundle } from './read-bundle.ts';
import type { Scope } from './scope.ts';
import { ScratchFile } from './scratch-file.ts';

/**
 * A bundle is read and checked to its end before the transaction begins: what it comes from may be slow, and the store's other writers
 * must not wait for it.
 */
export const importBundle = async (scope: Scope, bundle: AsyncIterable<Uint8Array>): Promise<Imported> => {
  if (typeof bundle?.[Symbol.asyncIterator] !== 'function') {
    throw new PerdureError(
      'INVALID_INPUT',
      'an import needs the bytes of a bundle: pass a stream, such as createReadStream(file)',
    );
  }
  const kept = await ScratchFile.open();
  try {
    const states = new CopiedStates();
    for await (const copy of readBundle(kept.keep(bundle))) states.add(copy);
    return await scope.store.importCopies(scope.workspace, readBundle(kept.read()));
  } finally {
    await kept.close();
  }
};
