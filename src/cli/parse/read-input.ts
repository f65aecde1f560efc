import { PerdureError } from '../../schema/error.ts';
import { wrongCall } from './wrong-call.ts';

const maxTextBytes = 64 * 1024 * 1024;

/** Reads a whole input into memory. Its size is limited for that reason. */
export const readBytes = async (
  input: AsyncIterable<Uint8Array>,
  { maxBytes, advice }: { readonly maxBytes: number; readonly advice: string },
): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new PerdureError('PAYLOAD_TOO_LARGE', `the input is over ${maxBytes} bytes: ${advice}`, {
        details: { maxBytes },
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

export const readText = async (input: AsyncIterable<Uint8Array>): Promise<string> => {
  const bytes = await readBytes(input, { maxBytes: maxTextBytes, advice: 'append it in several pieces' });
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw wrongCall('the input is not UTF-8 text: convert it first');
  }
};

export const parseJson = (subject: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrongCall(`${subject} is not JSON: ${(error as Error).message}`);
  }
};

/** Parses one JSON value per line. Empty lines are skipped, but included in line numbers. */
export const parseJsonLines = (text: string): readonly unknown[] =>
  text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseJson(`line ${index + 1}`, line)]));
