import { inlinePayloadBytes } from '../../../core/ports/store.ts';
import {
  type EncodedBlob,
  type EncodedPayload,
  encodeBlob,
  encodePayload,
  payloadEncoding,
} from '../../codec/payload-codec.ts';

export const isLarge = ({ length }: Uint8Array): boolean => length > inlinePayloadBytes;

/** Encodes each payload like `encodePayload`, but compresses large payloads in the thread pool. */
export const encodePayloads = async (
  payloads: readonly Uint8Array[],
): Promise<{ readonly encoded: readonly EncodedPayload[]; readonly blobs: readonly EncodedBlob[] }> => {
  const blobs: EncodedBlob[] = [];
  const encoded = payloads.map(async (payload): Promise<EncodedPayload> => {
    if (!isLarge(payload)) return encodePayload(payload);
    const blob = await encodeBlob(payload);
    blobs.push(blob);
    return { encoding: payloadEncoding.blob, stored: blob.hash };
  });
  return { encoded: await Promise.all(encoded), blobs };
};
