import type { StoredBody } from '../../core/ports/store.ts';
import { isCount } from '../is-count.ts';
import { decodePayload } from './payload-codec.ts';

/** Of the row of an event: what its payload is kept as, and the numbers that stand beside it. */
interface BodyRow {
  readonly at: number;
  readonly turn: number;
  readonly version: number;
  readonly encoding: number;
  readonly salt: Uint8Array | null;
  readonly payload: Uint8Array;
}

const numbers = ['at', 'turn', 'version'] as const;

/** Whoever reads without the hashes must not take for an event what no release can have written. */
export const bodyOf = (row: BodyRow, blob: Uint8Array | undefined): StoredBody => {
  const wrong = numbers.find((name) => !isCount(row[name]));
  if (wrong) return { kind: 'damaged', reason: `its row says ${wrong} ${row[wrong]}, which cannot be` };
  return decodePayload(row.encoding, row.salt, row.payload, blob);
};
