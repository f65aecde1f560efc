const pieceBytes = 64 * 1024;

/** Sends bytes as fast as the client reads them. Calls `onEnd` when all were taken, or when the client has left. */
export const inPieces = (content: Uint8Array, onEnd: () => void): ReadableStream<Uint8Array> => {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (at < content.length) {
          controller.enqueue(content.subarray(at, at + pieceBytes));
          at += pieceBytes;
          return;
        }
        controller.close();
        onEnd();
      },
      cancel: onEnd,
    },
    { highWaterMark: 0 },
  );
};
