import { PerdureError } from '../../schema/error.ts';

/** Of a file of a session, and of an artifact. */
export const maxContentBytes = 32 * 1024 * 1024;

export const refuseLargeContent = (name: string, { length }: Uint8Array): void => {
  if (length <= maxContentBytes) return;
  throw new PerdureError('PAYLOAD_TOO_LARGE', `${name} has ${length} bytes: at most ${maxContentBytes} are kept`, {
    details: { name, bytes: length, maxBytes: maxContentBytes },
  });
};

/** What a caller gave for the content of something, as bytes that are nobody else's: what it does with its own later changes nothing. */
export const contentBytes = (name: string, content: unknown): Uint8Array => {
  if (typeof content === 'string' ? !content.isWellFormed() : !(content instanceof Uint8Array)) {
    throw new PerdureError('INVALID_INPUT', `the content of ${name} is neither bytes nor Unicode text`);
  }
  const bytes = Buffer.from(content as string);
  refuseLargeContent(name, bytes);
  return bytes;
};
