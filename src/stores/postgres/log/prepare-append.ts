import type { AppendRequest } from '../../../core/ports/store.ts';
import { encodePayload, encodeUncompressed } from '../../codec/payload-codec.ts';
import { sealPayload, sealPayloadInPool } from '../../codec/seal-payload.ts';
import type { PendingAppend } from './append-batch.ts';
import { encodePayloads, isLarge } from './encode-payloads.ts';

/**
 * Prepares everything that does not depend on the head: synchronously for small payloads, in the thread pool for
 * large ones.
 */
export const prepareAppend = (
  request: AppendRequest,
  options: { readonly compress: boolean },
): PendingAppend | Promise<PendingAppend> => {
  const payloads = request.events.map(({ payload }) => payload);
  if (payloads.some(isLarge)) return prepareLarge(request, payloads);
  return {
    request,
    seals: payloads.map(sealPayload),
    payloads: payloads.map(options.compress ? encodePayload : encodeUncompressed),
    blobs: [],
    attempts: [],
  };
};

const prepareLarge = async (request: AppendRequest, payloads: readonly Uint8Array[]): Promise<PendingAppend> => {
  const [seals, { encoded, blobs }] = await Promise.all([
    Promise.all(payloads.map(sealPayloadInPool)),
    encodePayloads(payloads),
  ]);
  return { request, seals, payloads: encoded, blobs, attempts: [] };
};
