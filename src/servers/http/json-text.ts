import { eventLoop } from '../../core/ports/event-loop.ts';
import { jsonSteps } from '../../schema/json-steps.ts';

/** Serializes to JSON, and a bare `undefined` to `null`. */
export const jsonText = (value: unknown): string => JSON.stringify(value) ?? 'null';

function* byteSteps(value: unknown, maxBytes: number): Generator<void, Buffer<ArrayBuffer> | undefined, void> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (const piece of jsonSteps(value)) {
    const encoded = Buffer.from(piece);
    bytes += encoded.length;
    if (bytes > maxBytes) return undefined;
    pieces.push(encoded);
    yield;
  }
  return Buffer.concat(pieces);
}

/** Serializes like `jsonText`, in slices, for answers of any size. */
export const jsonBytes = async (value: unknown): Promise<Buffer<ArrayBuffer>> =>
  (await jsonBytesUpTo(value, Number.POSITIVE_INFINITY))!;

/** Like `jsonBytes`, but stops and returns undefined when the JSON has more bytes. */
export const jsonBytesUpTo = (value: unknown, maxBytes: number): Promise<Buffer<ArrayBuffer> | undefined> =>
  eventLoop.drain(byteSteps(value, maxBytes));
