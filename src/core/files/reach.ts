import { type ErrorCode, isPerdureError, PerdureError } from '../../schema/error.ts';
import type { BlobHash, Blobs } from '../ports/blobs.ts';
import { childPath } from './path.ts';
import { readContent } from './read-tree.ts';
import { decodeTree, emptyTree, type TreeEntry } from './tree.ts';

/** A blob, with the first path at which it was found. */
export type Reached =
  | { readonly kind: 'tree'; readonly hash: BlobHash; readonly path: string; readonly bytes: Uint8Array }
  | { readonly kind: 'content'; readonly hash: BlobHash; readonly path: string; readonly size: number };

interface OpenFolder {
  readonly path: string;
  readonly hash: BlobHash;
  readonly bytes: Uint8Array;
  /** The remaining entries, with their paths. */
  readonly rest: Iterator<readonly [string, TreeEntry]>;
}

/** What is wrong with a blob, and the path at which it was found. */
export interface BlobProblem {
  readonly path: string;
  readonly blob: BlobHash;
  readonly reason: string;
}

/**
 * Returns the problem that an error reports. Returns undefined for errors that do not concern a blob, such as an
 * unreachable store.
 */
export const blobProblemOf = (error: unknown): BlobProblem | undefined =>
  isPerdureError(error) && 'problem' in error.details ? (error.details.problem as BlobProblem) : undefined;

const problemAt = (path: string, blob: BlobHash, reason: string, cause?: unknown): PerdureError =>
  new PerdureError('STORE_CORRUPT', reason, { details: { problem: { path, blob, reason } }, cause });

/** Converts a failure that concerns the blob into a problem at its path. Rethrows other failures. */
const withBlobProblem = async <T>(path: string, hash: BlobHash, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!isPerdureError(error) || !blobFailures.includes(error.code)) throw error;
    throw problemAt(path, hash, `${shown(path)}${error.message}`, error);
  }
};
const blobFailures: readonly ErrorCode[] = ['BLOB_NOT_FOUND', 'STORE_CORRUPT', 'INVALID_INPUT'];
const shown = (path: string): string => (path === '' ? '' : `${JSON.stringify(path)}: `);

/** Reads the content of a file, and checks its size against the tree. */
const readReached = async (
  blobs: Blobs,
  { hash, path, size }: Extract<Reached, { kind: 'content' }>,
): Promise<Uint8Array> => {
  const bytes = await withBlobProblem(path, hash, () => readContent(blobs, hash));
  if (bytes.length === size) return bytes;
  throw problemAt(path, hash, `${shown(path)}the blob ${hash} has ${bytes.length} bytes instead of ${size}`);
};

const maxAhead = 32;
const maxAheadBytes = 8 * 1024 * 1024;

/**
 * Yields the blobs with their bytes, in the same order. Reads a bounded number ahead, because reading the blobs one by
 * one would mostly be waiting.
 */
export async function* readAhead(
  blobs: Blobs,
  source: AsyncIterable<Reached>,
): AsyncGenerator<Reached & { readonly bytes: Uint8Array }, void, void> {
  const ahead: { readonly reached: Reached; readonly bytes: Promise<Uint8Array>; readonly size: number }[] = [];
  let size = 0;
  const first = async () => {
    const next = ahead.shift()!;
    size -= next.size;
    return { ...next.reached, bytes: await next.bytes };
  };
  for await (const reached of source) {
    const bytes = reached.kind === 'tree' ? Promise.resolve(reached.bytes) : readReached(blobs, reached);
    // Prevents an unhandled rejection. `first` reports the failure.
    bytes.catch(() => undefined);
    const next = { reached, bytes, size: reached.kind === 'tree' ? reached.bytes.length : reached.size };
    ahead.push(next);
    size += next.size;
    while (ahead.length > maxAhead || (ahead.length > 0 && size > maxAheadBytes)) yield await first();
  }
  while (ahead.length > 0) yield await first();
}

/**
 * Finds everything below the given trees. Each blob occurs once, however often it is named, and a tree follows its
 * content. A file with the exact bytes of a tree occurs once as a tree and once as content.
 */
export class Reach {
  readonly #blobs: Blobs;
  readonly #trees = new Set<BlobHash>([emptyTree.hash]);
  readonly #contents = new Set<BlobHash>();

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Records a content blob. Returns whether it is new. */
  meet(hash: BlobHash): boolean {
    return isNew(this.#contents, hash);
  }

  async *below(root: BlobHash): AsyncGenerator<Reached, void, void> {
    const way: OpenFolder[] = [];
    const enter = async (path: string, hash: BlobHash): Promise<void> => {
      if (isNew(this.#trees, hash)) way.push(await this.#open(path, hash));
    };
    await enter('', root);
    for (let folder = way.at(-1); folder; folder = way.at(-1)) {
      const { value, done } = folder.rest.next();
      if (done) {
        way.pop();
        yield { kind: 'tree', hash: folder.hash, path: folder.path, bytes: folder.bytes };
        continue;
      }
      const [path, entry] = value;
      if (entry.kind === 'folder') await enter(path, entry.hash);
      else if (entry.kind === 'file' && this.meet(entry.hash))
        yield { kind: 'content', hash: entry.hash, path, size: entry.size };
    }
  }

  #open(path: string, hash: BlobHash): Promise<OpenFolder> {
    return withBlobProblem(path, hash, async () => {
      const bytes = await readContent(this.#blobs, hash);
      const rest = [...decodeTree(bytes)].map(([name, entry]) => [childPath(path, name), entry] as const).values();
      return { path, hash, bytes, rest };
    });
  }
}

const isNew = <T>(seen: Set<T>, each: T): boolean => seen.size < seen.add(each).size;
