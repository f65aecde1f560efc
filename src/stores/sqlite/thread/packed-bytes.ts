/** Packs byte arrays into one buffer, which moves to another thread without a copy, together with its views. */
export class PackedBytes {
  readonly buffer: ArrayBuffer;
  #used = 0;

  constructor(size: number) {
    this.buffer = Buffer.allocUnsafeSlow(size).buffer;
  }

  add(bytes: Uint8Array): Uint8Array {
    const view = new Uint8Array(this.buffer, this.#used, bytes.length);
    view.set(bytes);
    this.#used += bytes.length;
    return view;
  }
}
