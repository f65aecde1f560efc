import { PerdureError } from '../../schema/error.ts';

/** The maximum size of a session's file or artifact. */
export const maxContentBytes = 32 * 1024 * 1024;

export const refuseLargeContent = (name: string, { length }: Uint8Array): void => {
  if (length <= maxContentBytes) return;
  throw new PerdureError(
    'PAYLOAD_TOO_LARGE',
    `${name} has ${length} bytes, over the limit of ${maxContentBytes}: make it smaller`,
    {
      details: { name, bytes: length, maxBytes: maxContentBytes },
    },
  );
};

/** Copies a caller's content into new bytes, so that later changes to the caller's buffer have no effect. */
export const contentBytes = (name: string, content: unknown): Uint8Array => {
  if (typeof content === 'string' ? !content.isWellFormed() : !(content instanceof Uint8Array)) {
    throw new PerdureError(
      'INVALID_INPUT',
      `the content of ${name} is not valid: expected bytes or valid Unicode text`,
    );
  }
  const bytes = Buffer.from(content as string);
  refuseLargeContent(name, bytes);
  return bytes;
};
