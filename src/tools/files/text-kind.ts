import { ToolFailure } from '../../core/ports/tool.ts';

/** Signatures of binary formats: the kind, the byte offset and the bytes as Latin-1. */
const signs: readonly (readonly [kind: string, at: number, sign: string])[] = [
  ['a PNG image', 0, '\x89PNG'],
  ['a JPEG image', 0, '\xff\xd8\xff'],
  ['a GIF image', 0, 'GIF8'],
  ['a WebP image', 8, 'WEBP'],
  ['a TIFF image', 0, 'II*\0'],
  ['a TIFF image', 0, 'MM\0*'],
  ['an AVIF image', 4, 'ftypavif'],
  ['a HEIC image', 4, 'ftyphei'],
  ['an icon', 0, '\0\0\x01\0'],
  ['a PDF document', 0, '%PDF-'],
];

export const sniffedBytes = 8192;

export const isBinary = (head: Uint8Array): boolean => head.includes(0);

/** Rejects a file that is not text, judged by its first bytes. */
export const assertText = (head: Uint8Array, name: string): void => {
  const latin1 = Buffer.from(head.subarray(0, 64)).toString('latin1');
  const kind = signs.find(([, at, sign]) => latin1.startsWith(sign, at))?.[0];
  if (kind) throw new ToolFailure(`${name} is ${kind}, and this tool reads only text`);
  if (isBinary(head)) throw new ToolFailure(`${name} is a binary file, and this tool reads only text`);
};
