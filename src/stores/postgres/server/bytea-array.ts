/** PostgreSQL's type OID of bytea. */
const byteaOid = 17;
const headBytes = 20;

/**
 * Encodes a `bytea[]` in PostgreSQL's binary format. The driver would send hex text, which is twice as large and, for
 * a large batch, takes twice the time.
 */
export const byteaArray = (items: readonly (Uint8Array | null)[]): Buffer => {
  const size = items.reduce((sum, item) => sum + 4 + (item?.length ?? 0), headBytes);
  const target = Buffer.allocUnsafe(size);
  const dimensions = 1;
  const lowerBound = 1;
  const head = [dimensions, items.includes(null) ? 1 : 0, byteaOid, items.length, lowerBound];
  let at = 0;
  for (const field of head) at = target.writeInt32BE(field, at);
  for (const item of items) {
    at = target.writeInt32BE(item ? item.length : -1, at);
    if (!item) continue;
    target.set(item, at);
    at += item.length;
  }
  return target;
};
