import type { FileHandle } from 'node:fs/promises';
import { assertText, sniffedBytes } from './text-kind.ts';

const chunkBytes = 64 * 1024;
const maxLineChars = 2000;

export interface Line {
  readonly number: number;
  /** Only the beginning of a long line. */
  readonly text: string;
  readonly chars: number;
}

/** Reads line by line with bounded memory, however large the file or a line is. */
export async function* readLines(file: FileHandle, name: string, signal: AbortSignal): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  const chunk = Buffer.alloc(chunkBytes);
  let number = 1;
  let text = '';
  let chars = 0;
  const add = (part: string) => {
    if (text.length < maxLineChars) text += part.slice(0, maxLineChars - text.length);
    chars += part.length;
  };
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, position);
    const bytes = chunk.subarray(0, bytesRead);
    if (position === 0) assertText(bytes.subarray(0, sniffedBytes), name);
    position += bytesRead;
    const parts = decoder.decode(bytes, { stream: bytesRead > 0 }).split('\n');
    const rest = parts.pop()!;
    for (const part of parts) {
      add(part);
      yield { number: number++, text: text.replace(/\r$/, '').toWellFormed(), chars };
      text = '';
      chars = 0;
    }
    add(rest);
    if (bytesRead === 0) break;
  }
  if (chars > 0) yield { number, text: text.toWellFormed(), chars };
}

export const shownLine = ({ text, chars }: Line): string =>
  chars > maxLineChars ? `${text} [… ${chars - maxLineChars} more characters in this line]` : text;
