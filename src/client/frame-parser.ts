import { createParser, type EventSourceParser } from 'eventsource-parser';

/** A frame of server-sent events. */
export interface Frame {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Parses frames from chunks of bytes, which may be split anywhere. */
export class FrameParser {
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #isAfterReturn = false;
  #frames: Frame[] = [];

  constructor(maxChars: number) {
    this.#parser = createParser({
      onEvent: ({ id, event = 'message', data }) => this.#frames.push({ id, event, data }),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') {
          throw new RangeError(`a frame is larger than ${maxChars} characters`);
        }
      },
      maxBufferSize: maxChars,
    });
  }

  /** Returns the frames that these bytes complete. Throws a RangeError when a frame exceeds the limit. */
  push(bytes: Uint8Array): readonly Frame[] {
    this.#parser.feed(this.#endLines(this.#decoder.decode(bytes, { stream: true })));
    const frames = this.#frames;
    this.#frames = [];
    return frames;
  }

  /**
   * Converts every line ending to a line feed. After a carriage return, the underlying parser would wait for the next
   * byte before it returns the frame.
   */
  #endLines(text: string): string {
    if (text === '') return text;
    const start = this.#isAfterReturn && text.startsWith('\n') ? 1 : 0;
    this.#isAfterReturn = text.endsWith('\r');
    return text.slice(start).replace(/\r\n?/g, '\n');
  }
}
