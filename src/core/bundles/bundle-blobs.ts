import { createHash, type Hash } from 'node:crypto';
import { isPerdureError } from '../../schema/error.ts';
import { maxPathChars } from '../files/path.ts';
import { decodeTree, emptyTree, type Tree, type TreeEntry } from '../files/tree.ts';
import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import type { NamedBlob } from '../session/events/blob-events.ts';
import { type BundleLine, bundleInvalid, bundleTooLarge, maxBlobBytes } from './bundle-format.ts';

type Announced = Extract<BundleLine, { blob: unknown }>['blob'];

/** The size that a tree would have on disk. */
interface Extent {
  readonly entries: number;
  readonly pathChars: number;
}

/**
 * The maximum number of entries of a tree. It is limited because a few trees that name each other repeatedly could
 * fill any disk.
 */
const maxTreeEntries = 10_000_000;

export interface BlobOptions {
  /** Whether to return the blobs, so that they can be stored. Otherwise they are only checked. */
  readonly givesBlobs?: boolean | undefined;
  readonly maxTreeBytes?: number | undefined;
}

interface Coming {
  readonly announced: Announced;
  readonly digest: Hash;
  /** The content of a blob that is yielded or decoded. Other content is only hashed. */
  readonly bytes: Uint8Array | undefined;
  left: number;
}

/**
 * Checks the blobs of a bundle while they are read. Each blob must be complete and occur once, and a tree must follow
 * everything that it names. Keeps only the hashes.
 */
export class BundleBlobs {
  readonly #givesBlobs: boolean;
  readonly #maxTreeBytes: number;
  readonly #contents = new Map<BlobHash, number>();
  readonly #trees = new Map<BlobHash, Extent>([[emptyTree.hash, { entries: 0, pathChars: 0 }]]);
  #isEnded = false;
  #coming: Coming | undefined;

  constructor({ givesBlobs = false, maxTreeBytes = maxBlobBytes.tree }: BlobOptions = {}) {
    this.#givesBlobs = givesBlobs;
    this.#maxTreeBytes = Math.min(maxTreeBytes, maxBlobBytes.tree);
  }

  /** Called when the pieces of this blob follow. Returns the blob if it is empty. */
  announce(announced: Announced): NewBlob | undefined {
    this.#refuseUnfinished();
    if (this.#isEnded) throw bundleInvalid(`the blob ${announced.hash} comes after the events`);
    const { hash, kind, size } = announced;
    const known = kind === 'tree' ? this.#trees : this.#contents;
    if (known.has(hash)) throw bundleInvalid(`the blob ${hash} comes twice`);
    if (size > maxBlobBytes[kind]) throw bundleInvalid(`the blob ${hash} has more than ${maxBlobBytes[kind]} bytes`);
    if (kind === 'tree' && size > this.#maxTreeBytes) throw bundleTooLarge(`the folder ${hash}`, this.#maxTreeBytes);
    const bytes = this.#givesBlobs || kind === 'tree' ? Buffer.alloc(size) : undefined;
    this.#coming = { announced, digest: createHash('sha256'), bytes, left: size };
    return this.#finish();
  }

  /** Adds a piece. Returns the blob if this was its last piece. */
  add(piece: string): NewBlob | undefined {
    if (!this.#coming) throw bundleInvalid('it has a piece that belongs to no blob');
    const { announced, digest, bytes, left } = this.#coming;
    const added = Buffer.from(piece, 'base64');
    if (added.length === 0 || added.length > left) throw otherBytes(announced.hash);
    digest.update(added);
    bytes?.set(added, announced.size - left);
    this.#coming.left -= added.length;
    return this.#finish();
  }

  /** Called after the last blob. May be called again. */
  end(): void {
    this.#refuseUnfinished();
    this.#isEnded = true;
  }

  /**
   * Returns why the bundle does not contain the blob that an event names. Returns undefined if the bundle contains it.
   */
  problemOf(named: NamedBlob): string | undefined {
    if (named.kind === 'tree')
      return this.#trees.has(named.hash) ? undefined : `the tree ${named.hash} is not in the bundle`;
    return this.#contentProblem(named.hash, named.size);
  }

  #refuseUnfinished(): void {
    if (this.#coming) throw bundleInvalid(`the blob ${this.#coming.announced.hash} is incomplete`);
  }

  #finish(): NewBlob | undefined {
    if (!this.#coming || this.#coming.left > 0) return undefined;
    const { announced, digest, bytes } = this.#coming;
    this.#coming = undefined;
    const { hash, kind, size } = announced;
    if (digest.digest('hex') !== hash) throw otherBytes(hash);
    if (bytes && kind === 'tree') this.#trees.set(hash, this.#extentOf(hash, treeOf(hash, bytes)));
    else this.#contents.set(hash, size);
    return bytes && this.#givesBlobs ? { hash, bytes } : undefined;
  }

  #extentOf(hash: BlobHash, tree: Tree): Extent {
    const extent = { entries: 0, pathChars: 0 };
    for (const [name, entry] of tree) {
      const below = this.#below(hash, name, entry);
      extent.entries += 1 + below.entries;
      const deeper = below.pathChars > 0 ? 1 + below.pathChars : 0;
      extent.pathChars = Math.max(extent.pathChars, name.length + deeper);
    }
    if (extent.pathChars > maxPathChars)
      throw bundleInvalid(`a path in the tree ${hash} is longer than ${maxPathChars}`);
    if (extent.entries > maxTreeEntries)
      throw bundleInvalid(`the tree ${hash} contains more than ${maxTreeEntries} files`);
    return extent;
  }

  #below(hash: BlobHash, name: string, entry: TreeEntry): Extent {
    const below = entry.kind === 'folder' ? this.#trees.get(entry.hash) : { entries: 0, pathChars: 0 };
    const missing = below ? undefined : `the tree ${(entry as { hash: BlobHash }).hash} does not come before it`;
    const problem = entry.kind === 'file' ? this.#contentProblem(entry.hash, entry.size) : missing;
    if (problem) throw bundleInvalid(`${JSON.stringify(name)} in the tree ${hash}: ${problem}`);
    return below!;
  }

  #contentProblem(hash: BlobHash, size: number): string | undefined {
    const known = this.#contents.get(hash);
    if (known === undefined) return `the content ${hash} is not in the bundle`;
    return known === size ? undefined : `the content ${hash} has ${known} bytes instead of ${size}`;
  }
}

const otherBytes = (hash: BlobHash) => bundleInvalid(`the bytes of the blob ${hash} do not match its hash`);

const treeOf = (hash: BlobHash, bytes: Uint8Array): Tree => {
  try {
    return decodeTree(bytes);
  } catch (error) {
    if (!isPerdureError(error, 'STORE_CORRUPT')) throw error;
    throw bundleInvalid(`the tree ${hash} is malformed`, error);
  }
};
