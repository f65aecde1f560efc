import { ModelFailure } from '../core/ports/model.ts';
import { maxPayloadBytes } from '../core/ports/store.ts';

/** A longer line could not be stored. Without a limit, a parser would buffer a line that never ends. */
const maxLineBytes = maxPayloadBytes + 1024 * 1024;
const lineFeed = 10;

const isStream = ({ headers }: Response): boolean => (headers.get('content-type') ?? '').includes('event-stream');

/** Passes chunks on, and fails when a line, or a body that is not a stream, is too long to be an answer. */
const bounded = (isByLine: boolean): TransformStream<Uint8Array, Uint8Array> => {
  let bytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      const newest = isByLine ? chunk.lastIndexOf(lineFeed) : -1;
      bytes = newest < 0 ? bytes + chunk.length : chunk.length - newest - 1;
      if (bytes > maxLineBytes) {
        controller.error(new ModelFailure('endless', `the provider sent over ${maxLineBytes} bytes without an end`));
      } else controller.enqueue(chunk);
    },
  });
};

/** Like `fetch`, with a bound on what the reader of the response must buffer. */
export const boundFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  return response.body ? new Response(response.body.pipeThrough(bounded(isStream(response))), response) : response;
};
