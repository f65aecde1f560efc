import { hash } from 'node:crypto';
import type { FoldSnapshot } from '../../core/ports/store.ts';

type Parts = FoldSnapshot['parts'];

/** Inline bytes are in base64, blob hashes in hex. */
type Manifest = Readonly<Record<string, { readonly inline: string } | { readonly blob: string }>>;

/**
 * The manifest's own digest is stored under the empty name. It detects manual edits, which invalidate the snapshot.
 */
const digestName = '';
const digestOf = (manifest: Manifest): string => hash('sha256', JSON.stringify(manifest));

/** Larger parts are stored as blobs, so that an unchanged part is stored only once. */
const inlinePartBytes = 256;

const isInline = ({ length }: Uint8Array): boolean => length <= inlinePartBytes;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

/** The parts that are stored as blobs. */
export const blobPartsOf = (parts: Parts): readonly Uint8Array[] =>
  Object.values(parts).filter((bytes) => !isInline(bytes));

export const writeManifest = (parts: Parts, hashOf: (bytes: Uint8Array) => string): string => {
  const manifest: Manifest = Object.fromEntries(
    Object.entries(parts).map(([name, bytes]) => [
      name,
      isInline(bytes) ? { inline: base64(bytes) } : { blob: hashOf(bytes) },
    ]),
  );
  return JSON.stringify({ ...manifest, [digestName]: { digest: digestOf(manifest) } });
};

/** Parses a manifest. Returns undefined if it was changed after it was written. */
export const parseManifest = (text: string): Manifest | undefined => {
  try {
    const { [digestName]: found, ...manifest } = JSON.parse(text);
    return found.digest === digestOf(manifest) ? manifest : undefined;
  } catch {
    return undefined;
  }
};

/** Hashes of the blobs that the manifest names. */
export const blobsIn = (manifest: Manifest): readonly string[] =>
  Object.values(manifest).flatMap((part) => ('blob' in part ? part.blob : []));

/**
 * The parts that the manifest names; undefined if any part is lost. A snapshot is a cache, so the reader falls back to
 * an older one.
 */
export const partsIn = (manifest: Manifest, read: (hash: string) => Uint8Array | undefined): Parts | undefined => {
  const parts: [string, Uint8Array][] = [];
  for (const [name, part] of Object.entries(manifest)) {
    const bytes = 'inline' in part ? bytesOf(part.inline) : read(part.blob);
    if (!bytes) return undefined;
    parts.push([name, bytes]);
  }
  return Object.fromEntries(parts);
};
