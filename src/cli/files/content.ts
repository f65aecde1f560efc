import { open } from 'node:fs/promises';
import { z } from 'zod';
import type { Context } from '../parse/command.ts';
import { readBytes } from '../parse/read-input.ts';
import { fileError, wrongCall } from '../parse/wrong-call.ts';
import { printable, printableLines } from '../terminal/printable.ts';
import { linesText } from '../terminal/terminal.ts';

/**
 * One byte more than a session accepts, so that an oversized file reaches the session, which then reports its limit.
 */
const maxBytes = 32 * 1024 * 1024 + 1;

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
};

export const ContentView = z.strictObject({
  name: z.string(),
  size: z.int(),
  encoding: z.enum(['utf8', 'base64']),
  content: z.string(),
});

/**
 * Writes the content of a file: raw bytes to a pipe, only printable text to a terminal, and either of them as JSON.
 */
export const writeContent = async (
  { out, json, answer }: Context,
  name: string,
  bytes: Uint8Array,
  elsewhere: string,
): Promise<void> => {
  const text = json || out.isTerminal ? textOf(bytes) : undefined;
  if (json) {
    const content = text ?? Buffer.from(bytes).toString('base64');
    const encoding = text === undefined ? 'base64' : 'utf8';
    return answer({ name, size: bytes.length, encoding, content }, () => []);
  }
  if (!out.isTerminal) return out.write(bytes);
  if (text === undefined) throw wrongCall(`${printable(name)} is not text: pipe it, or ${elsewhere}`);
  await out.write(linesText(printableLines(text.replace(/\n$/, ''))));
};

export interface GivenFile {
  readonly bytes: Uint8Array;
  /** Whether its owner may execute it. */
  readonly isExecutable: boolean;
}

/** Reads a local file, or stdin for `-`. Called before a store is created. */
export const readGiven = async ({ stdin }: Context, file: string): Promise<GivenFile> => {
  const bounds = { maxBytes, advice: 'a session keeps files of up to 32 MiB' };
  if (file === '-') return { bytes: await readBytes(stdin(), bounds), isExecutable: false };
  try {
    await using handle = await open(file);
    const { mode } = await handle.stat();
    const bytes = await readBytes(handle.createReadStream({ autoClose: false }) as AsyncIterable<Uint8Array>, bounds);
    return { bytes, isExecutable: (mode & 0o100) !== 0 };
  } catch (error) {
    throw fileError(error, 'read', file);
  }
};
