import { hash } from 'node:crypto';
import type { FoldSnapshot } from '../../core/ports/store.ts';

type Parts = FoldSnapshot['parts'];

/** The bytes in base64, the hash in hex. */
type Manifest = Readonly<Record<string, { readonly inline: string } | { readonly blob: string }>>;

/** Stands among the parts and has no name. What somebody changed by hand must not be gone on from. */
const digestName = '';
const digestOf = (manifest: Manifest): string => hash('sha256', JSON.stringify(manifest));

/** Parts of up to this many bytes stand in the manifest itself; the others are blobs, so that a part that stays the same is kept once. */
const inlinePartBytes = 256;

const isInline = ({ length }: Uint8Array): boolean => length <= inlinePartBytes;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

/** Those of the parts that are blobs. */
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

/** undefined where it is not as we wrote it. */
export const parseManifest = (text: string): Manifest | undefined => {
  try {
    const { [digestName]: found, ...manifest } = JSON.parse(text);
    return found.digest === digestOf(manifest) ? manifest : undefined;
  } catch {
    return undefined;
  }
};

/** Hashes of the blobs that it names. */
export const blobsIn = (manifest: Manifest): readonly string[] =>
  Object.values(manifest).flatMap((part) => ('blob' in part ? part.blob : []));

/** undefined when any part is lost: a snapshot is a cache, and an older one does as well. */
export const partsIn = (manifest: Manifest, read: (hash: string) => Uint8Array | undefined): Parts | undefined => {
  const parts: [string, Uint8Array][] = [];
  for (const [name, part] of Object.entries(manifest)) {
    const bytes = 'inline' in part ? bytesOf(part.inline) : read(part.blob);
    if (!bytes) return undefined;
    parts.push([name, bytes]);
  }
  return Object.fromEntries(parts);
};
