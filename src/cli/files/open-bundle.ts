import { type FileHandle, open } from 'node:fs/promises';
import { fileError } from '../parse/wrong-call.ts';

async function* bytesOf(file: string, handle: FileHandle): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* handle.createReadStream() as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw fileError(error, 'read', file);
  }
}

/** Opens a bundle. A missing file is reported at once, before a command opens or creates a store. */
export const openBundle = async (file: string): Promise<AsyncIterable<Uint8Array>> => {
  const handle = await open(file).catch((error: unknown) => {
    throw fileError(error, 'read', file);
  });
  return bytesOf(file, handle);
};
