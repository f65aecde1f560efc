import { type ErrorCode, isPerdureError, PerdureError } from '../../schema/error.ts';
import type { BlobHash, Blobs } from '../ports/blobs.ts';
import { childPath } from './path.ts';
import { readContent } from './read-tree.ts';
import { decodeTree, emptyTree, type TreeEntry } from './tree.ts';

/** A blob, with the path at which it was first met. */
export type Reached =
  | { readonly kind: 'tree'; readonly hash: BlobHash; readonly path: string; readonly bytes: Uint8Array }
  | { readonly kind: 'content'; readonly hash: BlobHash; readonly path: string; readonly size: number };

interface OpenFolder {
  readonly path: string;
  readonly hash: BlobHash;
  readonly bytes: Uint8Array;
  /** By their paths. */
  readonly rest: Iterator<readonly [string, TreeEntry]>;
}

/** What is wrong with a blob, and where it was met. */
export interface BlobProblem {
  readonly path: string;
  readonly blob: BlobHash;
  readonly reason: string;
}

/** Undefined for what says nothing about a blob, such as a store that cannot be reached. */
export const blobProblemOf = (error: unknown): BlobProblem | undefined =>
  isPerdureError(error) && 'problem' in error.details ? (error.details.problem as BlobProblem) : undefined;

const problemAt = (path: string, blob: BlobHash, reason: string, cause?: unknown): PerdureError =>
  new PerdureError('STORE_CORRUPT', reason, { details: { problem: { path, blob, reason } }, cause });

/** A failure that says something about the blob, as what is wrong at its path; all others as they are. */
const telling = async <T>(path: string, hash: BlobHash, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!isPerdureError(error) || !blobFailures.includes(error.code)) throw error;
    throw problemAt(path, hash, `${shown(path)}${error.message}`, error);
  }
};
const blobFailures: readonly ErrorCode[] = ['BLOB_NOT_FOUND', 'STORE_CORRUPT', 'INVALID_INPUT'];
const shown = (path: string): string => (path === '' ? '' : `${JSON.stringify(path)}: `);

/** The content of a file as a tree tells it, whole. */
const readReached = async (
  blobs: Blobs,
  { hash, path, size }: Extract<Reached, { kind: 'content' }>,
): Promise<Uint8Array> => {
  const bytes = await telling(path, hash, () => readContent(blobs, hash));
  if (bytes.length === size) return bytes;
  throw problemAt(path, hash, `${shown(path)}the blob ${hash} has ${bytes.length} bytes and not ${size}`);
};

const maxAhead = 32;
const maxAheadBytes = 8 * 1024 * 1024;

/** With their bytes, in the same order. Some are read ahead, within bounds: one by one, most of the time would be waiting. */
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
    // Told when its turn comes.
    bytes.catch(() => undefined);
    const next = { reached, bytes, size: reached.kind === 'tree' ? reached.bytes.length : reached.size };
    ahead.push(next);
    size += next.size;
    while (ahead.length > maxAhead || (ahead.length > 0 && size > maxAheadBytes)) yield await first();
  }
  while (ahead.length > 0) yield await first();
}

/**
 * Everything below the trees that it is given: each once, however many name it, and a tree after what it names. A file may have the
 * very bytes of a tree: it is met as the one and as the other.
 */
export class Reach {
  readonly #blobs: Blobs;
  readonly #trees = new Set<BlobHash>([emptyTree.hash]);
  readonly #contents = new Set<BlobHash>();

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** A content by itself. Whether it is met for the first time. */
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
    return telling(path, hash, async () => {
      const bytes = await readContent(this.#blobs, hash);
      const rest = [...decodeTree(bytes)].map(([name, entry]) => [childPath(path, name), entry] as const).values();
      return { path, hash, bytes, rest };
    });
  }
}

const isNew = <T>(seen: Set<T>, each: T): boolean => seen.size < seen.add(each).size;
