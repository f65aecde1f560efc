/** PostgreSQL's type OIDs. */
const oids = { boolean: 16, bytea: 17, bigint: 20, smallint: 21, integer: 23, text: 25 } as const;

/**
 * Writes rows of a composite type as one array in PostgreSQL's binary format. One text array per column, as the
 * driver would send, costs the server more than the rows themselves.
 */
export class RowWriter {
  readonly #columns: number;
  #target: Buffer;
  #at = 0;
  #rows = 0;

  constructor(rowType: number, columns: number, expectedBytes: number) {
    this.#columns = columns;
    this.#target = Buffer.allocUnsafe(expectedBytes + 64);
    const [dimensions, nulls, lowerBound] = [1, 0, 1];
    for (const field of [dimensions, nulls, rowType, 0, lowerBound]) this.#int(field);
  }

  /** `writeFields` must write the fields in the order of the type's columns. */
  row(writeFields: () => void): void {
    this.#rows += 1;
    const start = this.#at;
    this.#int(0);
    this.#int(this.#columns);
    writeFields();
    this.#target.writeInt32BE(this.#at - start - 4, start);
  }

  text(value: string | undefined): void {
    this.#int(oids.text);
    if (value === undefined) {
      this.#null();
      return;
    }
    this.#reserve(4 + value.length * 3);
    const bytes = this.#target.write(value, this.#at + 4);
    this.#int(bytes);
    this.#at += bytes;
  }

  bytea(value: Uint8Array | undefined): void {
    this.#int(oids.bytea);
    if (!value) {
      this.#null();
      return;
    }
    this.#int(value.length);
    this.#reserve(value.length);
    this.#target.set(value, this.#at);
    this.#at += value.length;
  }

  boolean(value: boolean): void {
    this.#int(oids.boolean);
    this.#int(1);
    this.#reserve(1);
    this.#target[this.#at++] = value ? 1 : 0;
  }

  smallint(value: number): void {
    this.#int(oids.smallint);
    this.#int(2);
    this.#reserve(2);
    this.#at = this.#target.writeInt16BE(value, this.#at);
  }

  integer(value: number): void {
    this.#int(oids.integer);
    this.#int(4);
    this.#int(value);
  }

  bigint(value: number | undefined): void {
    this.#int(oids.bigint);
    if (value === undefined) {
      this.#null();
      return;
    }
    this.#int(8);
    this.#int(Math.floor(value / 2 ** 32));
    this.#int(value | 0);
  }

  finish(): Buffer {
    this.#target.writeInt32BE(this.#rows, 12);
    return this.#target.subarray(0, this.#at);
  }

  #null(): void {
    this.#int(-1);
  }

  #int(value: number): void {
    this.#reserve(4);
    this.#at = this.#target.writeInt32BE(value, this.#at);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#target.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
    this.#target.copy(larger, 0, 0, this.#at);
    this.#target = larger;
  }
}
