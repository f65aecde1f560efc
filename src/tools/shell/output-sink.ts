import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { type CommandRecord, tailBytes } from './command-record.ts';

/** Keeps the beginning of an output in one file, and the end of a larger output in another. */
export class OutputSink {
  readonly #record: CommandRecord;
  readonly #file: number;
  #maxFileBytes: number;
  #tail: Buffer[] = [];
  #tailLength = 0;
  bytes = 0;

  constructor(record: CommandRecord, maxFileBytes: number) {
    this.#record = record;
    this.#maxFileBytes = maxFileBytes;
    this.#file = openSync(record.path('output'), 'a', 0o600);
  }

  write(chunk: Buffer): void {
    const room = Math.max(0, this.#maxFileBytes - this.bytes);
    this.bytes += chunk.length;
    const written = this.#append(chunk.subarray(0, room));
    if (written < chunk.length) this.#keepTail(chunk.subarray(written));
  }

  close(): void {
    closeSync(this.#file);
    if (this.#tailLength === 0) return;
    try {
      writeFileSync(this.#record.path('tail'), Buffer.concat(this.#tail).subarray(-tailBytes), { mode: 0o600 });
    } catch {
      // The disk may be full. The command must not fail because of that.
    }
  }

  /** Stops writing the file when the disk is full. The command continues. */
  #append(chunk: Buffer): number {
    let at = 0;
    try {
      while (at < chunk.length) at += writeSync(this.#file, chunk, at);
    } catch {
      this.#maxFileBytes = 0;
    }
    return at;
  }

  #keepTail(chunk: Buffer): void {
    this.#tail.push(Buffer.from(chunk));
    this.#tailLength += chunk.length;
    while (this.#tailLength - this.#tail[0]!.length >= tailBytes) this.#tailLength -= this.#tail.shift()!.length;
  }
}
