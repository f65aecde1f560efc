import type { StoredBody } from '../../core/ports/store.ts';
import { isCount } from '../is-count.ts';
import { decodePayload } from './payload-codec.ts';

/** The columns of an event row that hold its payload, and the numbers to validate. */
interface BodyRow {
  readonly at: number;
  readonly turn: number;
  readonly version: number;
  readonly encoding: number;
  readonly salt: Uint8Array | null;
  readonly payload: Uint8Array;
}

const numbers = ['at', 'turn', 'version'] as const;

/**
 * Decodes the payload of a row. Rejects numbers that no release writes, because some readers do not verify hashes.
 */
export const bodyOf = (row: BodyRow, blob: Uint8Array | undefined): StoredBody => {
  const wrong = numbers.find((name) => !isCount(row[name]));
  if (wrong) return { kind: 'damaged', reason: `its row is corrupt (${wrong} is ${row[wrong]})` };
  return decodePayload(row.encoding, row.salt, row.payload, blob);
};
