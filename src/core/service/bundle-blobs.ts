import { isPerdureError } from '../../schema/error.ts';
import { maxPathChars } from '../files/path.ts';
import { decodeTree, emptyTree, hashContent, type Tree, type TreeEntry } from '../files/tree.ts';
import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import type { NamedBlob } from '../session/blob-events.ts';
import { type BundleLine, bundleInvalid, maxTreeBytes } from './bundle-format.ts';

type Announced = Extract<BundleLine, { blob: unknown }>['blob'];

/** What a tree would be on a disk. */
interface Extent {
  readonly entries: number;
  readonly pathChars: number;
}

/** Trees can name each other so that a few would fill any disk. */
const maxTreeEntries = 10_000_000;

/** The blobs of a bundle as they come: whole, each once, and a tree after all that it names. Keeps only their hashes. */
export class BundleBlobs {
  readonly #contents = new Map<BlobHash, number>();
  readonly #trees = new Map<BlobHash, Extent>([[emptyTree.hash, { entries: 0, pathChars: 0 }]]);
  #isEnded = false;
  #coming: { readonly announced: Announced; readonly pieces: Uint8Array[]; left: number } | undefined;

  /** The pieces of this one come next. */
  announce(announced: Announced): Promise<NewBlob | undefined> {
    this.#refuseUnfinished();
    if (this.#isEnded) throw bundleInvalid(`the blob ${announced.hash} comes after the events`);
    const { hash, kind, size } = announced;
    const known = kind === 'tree' ? this.#trees : this.#contents;
    if (known.has(hash)) throw bundleInvalid(`the blob ${hash} comes twice`);
    if (kind === 'tree' && size > maxTreeBytes)
      throw bundleInvalid(`the tree ${hash} has more than ${maxTreeBytes} bytes`);
    this.#coming = { announced, pieces: [], left: size };
    return this.#finish();
  }

  /** The blob, when this was its last piece. */
  add(piece: string): Promise<NewBlob | undefined> {
    if (!this.#coming) throw bundleInvalid('it has bytes of no blob');
    const bytes = Buffer.from(piece, 'base64');
    this.#coming.pieces.push(bytes);
    this.#coming.left -= bytes.length;
    if (bytes.length === 0 || this.#coming.left < 0) {
      throw bundleInvalid(`the blob ${this.#coming.announced.hash} has other bytes than its hash says`);
    }
    return this.#finish();
  }

  /** After the last; may be said again. */
  end(): void {
    this.#refuseUnfinished();
    this.#isEnded = true;
  }

  /** Why what an event names is not in the bundle. */
  problemOf(named: NamedBlob): string | undefined {
    if (named.kind === 'tree') return this.#trees.has(named.hash) ? undefined : `the tree ${named.hash} is not in it`;
    return this.#contentProblem(named.hash, named.size);
  }

  #refuseUnfinished(): void {
    if (this.#coming) throw bundleInvalid(`the blob ${this.#coming.announced.hash} is not whole`);
  }

  async #finish(): Promise<NewBlob | undefined> {
    if (!this.#coming || this.#coming.left > 0) return undefined;
    const { announced, pieces } = this.#coming;
    this.#coming = undefined;
    const { hash, kind, size } = announced;
    const bytes = Buffer.concat(pieces);
    if ((await hashContent(bytes)) !== hash) throw bundleInvalid(`the blob ${hash} has other bytes than its hash says`);
    if (kind === 'tree') this.#trees.set(hash, this.#extentOf(hash, treeOf(hash, bytes)));
    else this.#contents.set(hash, size);
    return { hash, bytes };
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
      throw bundleInvalid(`the tree ${hash} stands for more than ${maxTreeEntries} files`);
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
    return known === size ? undefined : `the content ${hash} has ${known} bytes and not ${size}`;
  }
}

const treeOf = (hash: BlobHash, bytes: Uint8Array): Tree => {
  try {
    return decodeTree(bytes);
  } catch (error) {
    if (!isPerdureError(error, 'STORE_CORRUPT')) throw error;
    throw bundleInvalid(`the tree ${hash} is none that we would write`, error);
  }
};
