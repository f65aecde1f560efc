import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PerdureError } from '../../schema/error.ts';

const scratchError = (cause: unknown, folder: string): PerdureError => {
  const { code, message } = cause as NodeJS.ErrnoException;
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new PerdureError(
    full ? 'STORE_FULL' : 'FILE_UNAVAILABLE',
    `the folder for temporary files, ${folder}, cannot be written: ${message}; make room there, or set TMPDIR to another folder`,
    { details: { folder, errno: code }, cause },
  );
};

/** A temporary file without a name. When the process ends for any reason, the system removes the file. */
export class ScratchFile {
  readonly #handle: FileHandle;
  readonly #folder: string;

  private constructor(handle: FileHandle, folder: string) {
    this.#handle = handle;
    this.#folder = folder;
  }

  static async open(): Promise<ScratchFile> {
    const folder = tmpdir();
    const file = join(folder, `perdure-import-${randomUUID()}`);
    try {
      const handle = await open(file, 'wx+', 0o600);
      await unlink(file);
      return new ScratchFile(handle, folder);
    } catch (error) {
      throw scratchError(error, folder);
    }
  }

  /** Passes the bytes of the source through and stores them. */
  async *keep(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      await this.#handle.writeFile(chunk).catch((error) => {
        throw scratchError(error, this.#folder);
      });
      yield chunk;
    }
  }

  read(): AsyncIterable<Uint8Array> {
    return this.#handle.createReadStream({ start: 0, autoClose: false });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
