/** PostgreSQL's own numbers for these types. */
const oids = { text: 25, bytea: 17, boolean: 16, smallint: 21, integer: 23, bigint: 20 } as const;

export type ColumnType = keyof typeof oids;
export type ColumnValue = string | number | boolean | Uint8Array | null;

const widths: Partial<Record<ColumnType, number>> = { smallint: 2, integer: 4, bigint: 8 };

const encode = (type: ColumnType, value: ColumnValue): Uint8Array | null => {
  if (typeof value === 'string') return Buffer.from(value);
  if (typeof value === 'boolean') return Buffer.of(value ? 1 : 0);
  if (typeof value !== 'number') return value;
  const target = Buffer.alloc(widths[type]!);
  if (type === 'smallint') target.writeInt16BE(value);
  else target.writeUInt32BE(value % 2 ** 32, target.length - 4);
  if (type === 'bigint') target.writeUInt32BE(Math.floor(value / 2 ** 32));
  return target;
};

/**
 * Rows of a composite type as one array in PostgreSQL's binary format. An array for each column, as the driver would send it in text,
 * costs the server more than the rows themselves.
 */
export const rowArray = (
  rowType: number,
  columns: readonly ColumnType[],
  rows: readonly (readonly ColumnValue[])[],
): Buffer => {
  const encoded = rows.map((row) => row.map((value, place) => encode(columns[place]!, value)));
  const rowSizes = encoded.map((row) => row.reduce((sum, field) => sum + 8 + (field?.length ?? 0), 4));
  const target = Buffer.allocUnsafe(rowSizes.reduce((sum, size) => sum + 4 + size, 20));
  const [dimensions, nulls, lowerBound] = [1, 0, 1];
  let at = 0;
  for (const field of [dimensions, nulls, rowType, rows.length, lowerBound]) at = target.writeInt32BE(field, at);
  for (const [index, row] of encoded.entries()) {
    at = target.writeInt32BE(rowSizes[index]!, at);
    at = target.writeInt32BE(columns.length, at);
    for (const [place, field] of row.entries()) {
      at = target.writeInt32BE(oids[columns[place]!], at);
      at = target.writeInt32BE(field ? field.length : -1, at);
      if (!field) continue;
      target.set(field, at);
      at += field.length;
    }
  }
  return target;
};
