import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const maxBytes = 16 * 1024;

/** Reads what was added to a file since the last call. If much was added, reads only the end. */
export class TailReader {
  readonly #path: string;
  readonly #buffer = Buffer.alloc(maxBytes);
  #decoder = new TextDecoder();
  #file: number | undefined;
  #position = 0;

  constructor(path: string) {
    this.#path = path;
  }

  next(): string {
    try {
      this.#file ??= openSync(this.#path, 'r');
    } catch {
      return '';
    }
    const { size } = fstatSync(this.#file);
    const left = size - this.#position - maxBytes;
    if (left > 0) {
      this.#position += left;
      this.#decoder = new TextDecoder();
    }
    const read = readSync(this.#file, this.#buffer, 0, maxBytes, this.#position);
    this.#position += read;
    const text = this.#decoder.decode(this.#buffer.subarray(0, read), { stream: true });
    return left > 0 ? `[… ${left} bytes …]\n${text}` : text;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}
