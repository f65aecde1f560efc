import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import type { CommandRecord } from './command-record.ts';

const readPart = (path: string, bytes: number, from: 'head' | 'tail'): string => {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(file);
    const part = Buffer.alloc(Math.min(bytes, size));
    const read = readSync(file, part, 0, part.length, from === 'head' ? 0 : size - part.length);
    return part.subarray(0, read).toString('utf8');
  } finally {
    closeSync(file);
  }
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const tailOf = (record: CommandRecord, bytes: number): string =>
  record.text('tail') === undefined
    ? readPart(record.path('output'), bytes, 'tail')
    : readFileSync(record.path('tail')).subarray(-bytes).toString('utf8');

/** The whole output, or its beginning and its end if it exceeds `maxBytes`. */
export const outputText = (record: CommandRecord, maxBytes: number, bytes = sizeOf(record.path('output'))): string => {
  if (bytes <= maxBytes && record.text('tail') === undefined) return readPart(record.path('output'), maxBytes, 'head');
  const half = Math.floor(maxBytes / 2);
  const [head, tail] = [readPart(record.path('output'), half, 'head'), tailOf(record, half)];
  const path = record.path('output');
  const note = `[… ${bytes} bytes in all; the first ${sizeOf(path)} are kept for a day on the host, in ${path} …]`;
  return `${head}\n${note}\n${tail}`;
};
