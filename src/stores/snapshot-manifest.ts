import type { FoldSnapshot } from '../core/ports/store.ts';

type Parts = FoldSnapshot['parts'];

/** The bytes in base64, the hash in hex. */
type Manifest = Readonly<Record<string, { readonly inline: string } | { readonly blob: string }>>;

/** Parts of up to this many bytes stand in the manifest itself; the others are blobs, so that a part that stays the same is kept once. */
const inlinePartBytes = 256;

const isInline = ({ length }: Uint8Array): boolean => length <= inlinePartBytes;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

/** Those of the parts that are blobs. */
export const blobPartsOf = (parts: Parts): readonly Uint8Array[] =>
  Object.values(parts).filter((bytes) => !isInline(bytes));

export const writeManifest = (parts: Parts, hashOf: (bytes: Uint8Array) => string): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(parts).map(([name, bytes]) => [
        name,
        isInline(bytes) ? { inline: base64(bytes) } : { blob: hashOf(bytes) },
      ]),
    ) satisfies Manifest,
  );

const isPart = (part: unknown): boolean => {
  const { inline, blob } = (part ?? {}) as Record<string, unknown>;
  return typeof inline === 'string' || (typeof blob === 'string' && /^[0-9a-f]{64}$/.test(blob));
};

/** undefined where it says nothing that we wrote. */
export const parseManifest = (text: string): Manifest | undefined => {
  try {
    const manifest = JSON.parse(text) as Manifest;
    const parts = Object.values(manifest);
    return parts.length > 0 && parts.every(isPart) ? manifest : undefined;
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
