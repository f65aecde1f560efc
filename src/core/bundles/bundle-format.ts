import type { Hash } from 'node:crypto';
import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { eventHeader } from '../../schema/event.ts';
import { IdempotencyKeyText } from '../../schema/idempotency-key.ts';
import { SessionId } from '../../schema/ids.ts';
import { maxContentBytes } from '../files/content-bytes.ts';
import { maxPayloadBytes } from '../ports/store.ts';

/*
 * A bundle is a file of JSON lines, compressed with zstd. The first line is a header that names the sessions, parents
 * before children. Then follow all blobs that their events name, each with its pieces in base64. A tree follows
 * everything that it names. Then follow the events and the idempotency keys of each session. The last line holds the
 * SHA-256 of all lines before it. Payloads are strings with the exact text that was hashed. After the compressed lines
 * follows a seal, which is the SHA-256 of the compressed bytes.
 */
export const bundleVersion = 3;
/** The maximum length of a line. An event with the largest payload fits, even if every byte has to be escaped. */
export const maxLineBytes = 2 * maxPayloadBytes + 1024 * 1024;
/** The maximum size of a tree. A folder with about a million files fits. */
export const maxTreeBytes = 128 * 1024 * 1024;
/** The maximum size of blobs. Larger blobs are rejected, because no release has written any. */
export const maxBlobBytes = { content: maxContentBytes, tree: maxTreeBytes };

export const bundleInvalid = (why: string, cause?: unknown): PerdureError =>
  new PerdureError(
    'BUNDLE_INVALID',
    `the bundle is not valid: ${why}; nothing was imported, export it again from its source`,
    { details: { reason: why }, cause },
  );

/** The error for a bundle that exceeds the limits of its reader, such as a server. */
export const bundleTooLarge = (what: string, maxBytes: number): PerdureError =>
  new PerdureError(
    'PAYLOAD_TOO_LARGE',
    `${what} has more than ${maxBytes} bytes when decompressed, which is the limit here; nothing was imported: export fewer sessions at once, or import it on the store itself, without --server`,
    { details: { maxBytes } },
  );

const Hex32 = z.string().regex(/^[0-9a-f]{64}$/);

const SessionEntry = z.strictObject({
  session: SessionId,
  parent: z.strictObject({ session: SessionId, seq: z.int().positive() }).optional(),
  /** The seq of the session's last event in the bundle. */
  seq: z.int().positive(),
  hash: Hex32,
});

export const BundleHeader = z.strictObject({
  bundle: z.literal('perdure'),
  version: z.literal(bundleVersion),
  // Stops at the first invalid entry, because an issue for each of millions of entries would exhaust memory.
  sessions: z.array(z.unknown()).transform((entries) => entries.map((entry) => SessionEntry.parse(entry))),
});
export type BundleHeader = z.infer<typeof BundleHeader>;

const Body = z.union([
  z.strictObject({ salt: z.string().regex(/^[0-9a-f]{32}$/), payload: z.string() }),
  z.strictObject({ redacted: Hex32 }),
]);

export const BundleLine = z.union([
  z.strictObject({ piece: z.string() }),
  z.strictObject({
    blob: z.strictObject({
      hash: Hex32,
      kind: z.enum(['tree', 'content']),
      size: z.int().nonnegative(),
    }),
  }),
  z.strictObject({ event: eventHeader.extend({ opensTurn: z.boolean(), body: Body, hash: Hex32 }) }),
  z.strictObject({
    key: z.strictObject({
      session: SessionId,
      key: IdempotencyKeyText,
      bodyHash: Hex32,
      seq: z.int().positive(),
      count: z.int().positive(),
    }),
  }),
  z.strictObject({ end: z.strictObject({ lines: z.int().positive(), sha256: Hex32 }) }),
]);
export type BundleLine = z.infer<typeof BundleLine>;

/** Returns the end line of a bundle. It is not covered by a checksum, so a reader compares its exact text. */
export const endLine = (lines: number, digest: Hash): string =>
  JSON.stringify({ end: { lines, sha256: digest.digest('hex') } });
