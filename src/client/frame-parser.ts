/** A frame of server-sent events. */
export interface Frame {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: string;
}

const lineEnd = /\r\n|[\r\n]/;

/** Parses server-sent events from bytes as they arrive, however they are split. */
export class FrameParser {
  readonly #decoder = new TextDecoder();
  readonly #maxChars: number;
  /** Parts of the line that has not ended yet. */
  #pieces: string[] = [];
  #chars = 0;
  #isAfterReturn = false;
  #id: string | undefined;
  #event = '';
  #data: string[] = [];

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** Returns the frames that these bytes complete. Throws a RangeError when a frame exceeds the limit. */
  push(bytes: Uint8Array): readonly Frame[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return [];
    const start = this.#isAfterReturn && text.startsWith('\n') ? 1 : 0;
    this.#isAfterReturn = text.endsWith('\r');
    const [first = '', ...others] = text.slice(start).split(lineEnd);
    const frames: Frame[] = [];
    this.#grow(first);
    for (const next of others) {
      const frame = this.#takeLine(this.#pieces.join(''));
      if (frame) frames.push(frame);
      this.#pieces = [];
      this.#grow(next);
    }
    return frames;
  }

  #grow(piece: string): void {
    this.#pieces.push(piece);
    this.#chars += piece.length;
    if (this.#chars > this.#maxChars) throw new RangeError(`a frame is larger than ${this.#maxChars} characters`);
  }

  #takeLine(line: string): Frame | undefined {
    if (line === '') return this.#takeFrame();
    const colon = line.indexOf(':');
    const [name, value] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else this.#chars -= line.length; // a comment or an unknown field
    return undefined;
  }

  #takeFrame(): Frame | undefined {
    const frame = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') };
    const isFrame = this.#data.length > 0;
    this.#id = undefined;
    this.#event = '';
    this.#data = [];
    this.#chars = 0;
    return isFrame ? frame : undefined;
  }
}
