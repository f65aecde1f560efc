import { hash, webcrypto } from 'node:crypto';
import { PerdureError } from '../../schema/error.ts';
import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import { nameProblem } from './path.ts';

export interface FileEntry {
  readonly kind: 'file';
  /** The permission bits, 0 to 0o777. */
  readonly mode: number;
  readonly size: number;
  readonly hash: BlobHash;
}

export interface LinkEntry {
  readonly kind: 'link';
  /** The raw target of the link. It may point anywhere and is never followed. */
  readonly target: string;
}

export interface FolderEntry {
  readonly kind: 'folder';
  readonly mode: number;
  /** The hash of its tree. */
  readonly hash: BlobHash;
}

export type TreeEntry = FileEntry | LinkEntry | FolderEntry;

/** The entries of a folder, by name. */
export type Tree = ReadonlyMap<string, TreeEntry>;

const header = 'perdure.tree.1\n';
const maxTargetBytes = 4095;

export const hashOf = (bytes: Uint8Array): BlobHash => hash('sha256', bytes, 'hex');

const slowToHash = 1024 * 1024;

/** Like `hashOf`, but large content is hashed without blocking the event loop. */
export const hashContent = async (bytes: Uint8Array): Promise<BlobHash> =>
  bytes.length < slowToHash
    ? hashOf(bytes)
    : Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex');

const inOrder = <T>(entries: Iterable<readonly [string, T]>): (readonly [string, T])[] =>
  [...entries].sort(([a], [b]) => (a < b ? -1 : 1));

const rowOf = (name: string, entry: TreeEntry): readonly unknown[] => {
  if (entry.kind === 'link') return [name, 'link', entry.target];
  if (entry.kind === 'folder') return [name, 'folder', entry.mode, entry.hash];
  return [name, 'file', entry.mode, entry.hash, entry.size];
};

/**
 * Encodes a tree deterministically: equal entries produce equal bytes. A header is followed by JSON rows, sorted by
 * the UTF-16 units of the names.
 */
export const encodeTree = (tree: Tree): Uint8Array =>
  Buffer.from(`${header}${JSON.stringify(inOrder(tree).map(([name, entry]) => rowOf(name, entry)))}`);

export const blobOfTree = (tree: Tree): NewBlob => {
  const bytes = encodeTree(tree);
  return { hash: hashOf(bytes), bytes };
};

/** The empty tree, which stands for the files of a session before its first snapshot. It is never stored. */
export const emptyTree: NewBlob = blobOfTree(new Map());

/** The tree of the files in a fold. */
export const treeOf = ({ files }: { readonly files?: { readonly tree: BlobHash } | undefined }): BlobHash =>
  files?.tree ?? emptyTree.hash;

export const isLinkTarget = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  !value.includes('\0') &&
  value.isWellFormed() &&
  Buffer.byteLength(value) <= maxTargetBytes;

const isMode = (value: unknown): value is number => Number.isInteger(value) && (value as number) >>> 9 === 0;
const isHash = (value: unknown): value is BlobHash => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

const entryOf = ([, kind, ...rest]: readonly unknown[]): TreeEntry | undefined => {
  if (kind === 'link') return isLinkTarget(rest[0]) ? { kind, target: rest[0] } : undefined;
  const [mode, hash, size] = rest;
  if (!isMode(mode) || !isHash(hash)) return undefined;
  if (kind === 'folder') return { kind, mode, hash };
  return kind === 'file' && Number.isSafeInteger(size) && (size as number) >= 0
    ? { kind, mode, size: size as number, hash }
    : undefined;
};

const damaged = (reason: string) =>
  new PerdureError('STORE_CORRUPT', `a tree cannot be read: ${reason}; restore the store from a backup`);

/** Decodes a tree. Rejects anything that `encodeTree` would not write, and names that could lead out of a worktree. */
export const decodeTree = (bytes: Uint8Array): Tree => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (!text.startsWith(header)) throw damaged('its header is missing or of another version');
  const tree = new Map<string, TreeEntry>();
  for (const row of parseRows(text.slice(header.length))) {
    const name: unknown = Array.isArray(row) ? row[0] : undefined;
    const entry = typeof name === 'string' && !nameProblem(name, 'linux') && entryOf(row as readonly unknown[]);
    if (!entry) throw damaged('it has an invalid entry');
    tree.set(name, entry);
  }
  if (Buffer.compare(encodeTree(tree), bytes) !== 0) throw damaged('its encoding is not canonical');
  return tree;
};

const parseRows = (json: string): readonly unknown[] => {
  try {
    const rows: unknown = JSON.parse(json);
    if (Array.isArray(rows)) return rows;
  } catch {
    // The error is reported below.
  }
  throw damaged('its rows are not a JSON list');
};

/** The mode of a worktree's root folder. It is constant, because snapshots do not record it. */
export const rootMode = 0o755;
export const rootEntry = (hash: BlobHash): FolderEntry => ({ kind: 'folder', mode: rootMode, hash });

/** Whether two entries are equal. Two absent entries are equal. */
export const isSameEntry = (a: TreeEntry | undefined, b: TreeEntry | undefined): boolean => {
  if (!a || !b) return a === b;
  if (a.kind === 'link') return b.kind === 'link' && a.target === b.target;
  if (b.kind === 'link') return false;
  return a.kind === b.kind && a.mode === b.mode && a.hash === b.hash;
};
