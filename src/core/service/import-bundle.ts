import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PerdureError } from '../../schema/error.ts';
import type { Imported } from '../ports/store.ts';
import { readBundle } from './read-bundle.ts';
import type { Scope } from './scope.ts';

async function* keptIn(file: string, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const kept = await open(file, 'wx', 0o600);
  try {
    for await (const chunk of source) {
      await kept.writeFile(chunk);
      yield chunk;
    }
  } finally {
    await kept.close();
  }
}

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
  const folder = await mkdtemp(join(tmpdir(), 'perdure-import-'));
  try {
    const file = join(folder, 'bundle');
    for await (const _ of readBundle(keptIn(file, bundle)));
    return await scope.store.importCopies(scope.workspace, readBundle(createReadStream(file)));
  } finally {
    await rm(folder, { recursive: true });
  }
};
