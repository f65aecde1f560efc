import type { DatabaseSync } from 'node:sqlite';
import type { AppendOutcome, AppendRequest, NewEvent } from '../../../core/ports/store.ts';
import { isPerdureError } from '../../../schema/error.ts';
import {
  type EncodedBlob,
  type EncodedPayload,
  encodeBlobSync,
  encodePayload,
  encodeUncompressed,
} from '../../codec/payload-codec.ts';
import { type Seal, sealPayload } from '../../codec/seal-payload.ts';
import { meterAppend } from '../../log/meter.ts';
import { planAppend } from '../../log/plan-append.ts';
import { inTransaction } from '../file/in-transaction.ts';
import { storeError } from '../file/store-error.ts';
import { readForkPoint } from './fork-point.ts';
import type { Tables } from './tables.ts';

export type AppendResult = AppendOutcome | { readonly outcome: 'failed'; readonly error: unknown };

interface Prepared {
  readonly request: AppendRequest;
  readonly seals: readonly Seal[];
  readonly payloads: readonly EncodedPayload[];
  readonly blobs: readonly EncodedBlob[];
}

/**
 * When a transaction has more bytes than this, CPU time is scarcer than space, so further payloads are stored
 * uncompressed.
 */
const maxCompressBytes = 64 * 1024;

/** Does all expensive work that needs no lock. */
const prepare = (requests: readonly AppendRequest[]): readonly Prepared[] => {
  let bytes = 0;
  const encode = ({ payload }: NewEvent): EncodedPayload => {
    bytes += payload.length;
    return bytes > maxCompressBytes ? encodeUncompressed(payload) : encodePayload(payload);
  };
  return requests.map((request) => {
    const seals = request.events.map(({ payload }) => sealPayload(payload));
    const payloads = request.events.map(encode);
    const blobs = payloads.flatMap(({ blob }) => (blob ? encodeBlobSync(blob) : []));
    return { request, seals, payloads, blobs };
  });
};

const appendOne = (tables: Tables, { request, seals, payloads, blobs }: Prepared): AppendOutcome => {
  const head = tables.heads.read(request);
  const outcome = planAppend(
    {
      head,
      parent: readForkPoint(tables, request.workspace, request.creates?.parent),
      key: request.key && tables.keys.one(request, request.key.key),
    },
    request,
    seals,
  );
  if (outcome.outcome !== 'appended') return outcome;
  const { workspace, key } = request;
  const refusal = tables.ledger.enter(workspace, meterAppend(head, request, outcome));
  if (refusal) return { outcome: 'quota', refusal };
  for (const blob of blobs) tables.blobs.write(workspace, blob);
  for (const [index, event] of outcome.events.entries()) {
    tables.events.insert(workspace, event, payloads[index]!);
    tables.projections.add(workspace, event, outcome.head.root);
  }
  if (key) tables.keys.insert(request, { ...key, seq: outcome.events[0]!.seq, count: outcome.events.length });
  tables.work.enter(request, outcome.head.summary, outcome.events);
  tables.heads.write(outcome.head);
  return outcome;
};

/**
 * Appends all requests in one transaction. A rejected request does not affect the others. After an engine error, each
 * request is retried in its own transaction.
 */
export const appendBatch = (
  db: DatabaseSync,
  file: string,
  tables: Tables,
  requests: readonly AppendRequest[],
): readonly AppendResult[] => {
  const prepared = prepare(requests);
  const attempt = (each: Prepared): AppendResult => {
    try {
      return appendOne(tables, each);
    } catch (error) {
      if (isPerdureError(error)) return { outcome: 'failed', error };
      throw error;
    }
  };
  const together = (batch: readonly Prepared[]): readonly AppendResult[] => {
    try {
      return inTransaction(db, () => {
        tables.admission.check();
        tables.heads.refresh();
        const results = batch.map(attempt);
        tables.files.check();
        return results;
      });
    } catch (cause) {
      tables.heads.forget();
      const error = storeError(cause, file);
      if (batch.length === 1 || isPerdureError(error, 'STORE_BUSY') || isPerdureError(error, 'STORE_NEWER')) {
        return batch.map(() => ({ outcome: 'failed', error }));
      }
      return batch.flatMap((each) => together([each]));
    }
  };
  return together(prepared);
};
