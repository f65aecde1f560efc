import { lstatSync, readdirSync, type Stats, statfsSync, statSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { NewBlob } from '../../ports/blobs.ts';
import { holdsOneOf } from '../../session/redaction/redact.ts';
import { maxRulesBytes } from '../ignore-rules.ts';
import { defaultScopes, ignoredIn, ignoreFile, type Scope, scopeOf } from '../ignore-scopes.ts';
import type { LeftOutReason } from '../left-out.ts';
import { isOwnName, nameProblem } from '../path.ts';
import { blobOfTree, type FileEntry, type FolderEntry, hashOf, type LinkEntry, rootMode } from '../tree.ts';
import { type HeldFolder, holdFolder } from './held-folder.ts';
import { isSameStamp, isSettled, readFile, readLink, type Stamp, stampOf } from './read-file.ts';

export interface ScannedFile extends FileEntry {
  /** The stamp of the file. Absent if the file was written and not read. */
  readonly stamp?: Stamp;
  /** Whether the file may have changed without a change of its stamp. */
  readonly isRacy?: true;
}

export interface ScannedFolder extends FolderEntry {
  /**
   * The stamp of the folder. While it stays equal, `entries` lists every name. Absent if that is not certain, or if
   * something was left out.
   */
  readonly stamp?: Stamp | undefined;
  readonly entries: ReadonlyMap<string, Scanned>;
}

/** A tree entry with the stamp by which a later scan recognizes that it is unchanged. */
export type Scanned = ScannedFile | LinkEntry | ScannedFolder;

export interface ScanOptions {
  /** The worktree's path, which must not contain a symbolic link. */
  readonly folder: string;
  /** The previous scan. Unchanged entries are reused from it. */
  readonly previous?: ScannedFolder | undefined;
  readonly maxFileBytes: number;
  /** A file whose content or name contains one of these is left out. */
  readonly secrets: readonly string[];
  /** Called, and awaited, with every file and tree that is not in the previous scan. */
  readonly found: (blob: NewBlob) => Promise<void> | undefined;
  /** Returns whether to include a path that the ignore rules would leave out. */
  readonly isWanted?: ((segments: readonly string[]) => Promise<boolean>) | undefined;
}

/** File systems that update the times of a folder whenever a name is added or removed: ext, XFS, Btrfs, F2FS, ZFS, tmpfs, overlay. */
const stampingFileSystems: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630,
]);

/**
 * Returns a function that computes the stamp of a folder. While the stamp stays equal, so do the names in the folder.
 * The stamp is undefined if that is not certain.
 */
const folderStamps = (root: string): ((stats: Stats, lookedAt: number) => Stamp | undefined) => {
  if (!stampingFileSystems.has(statfsSync(root).type)) return () => undefined;
  const { dev } = statSync(root);
  return (stats, lookedAt) => (stats.dev === dev && isSettled(stats, lookedAt) ? stampOf(stats) : undefined);
};

export interface Scan {
  readonly root: ScannedFolder;
  readonly leftOut: ReadonlyMap<string, LeftOutReason>;
  /** Paths that the ignore rules would leave out, but that `isWanted` included. */
  readonly wanted: ReadonlySet<string>;
}

/** The number of folders after which the scan yields to other tasks in the thread. */
const foldersAtOnce = 16;

/**
 * The hash of a folder whose tree is not in the store. It equals no real hash, so the folder is never treated as
 * unchanged.
 */
export const unknownHash = '';

class Scanner {
  readonly leftOut = new Map<string, LeftOutReason>();
  readonly wanted = new Set<string>();
  readonly #options: ScanOptions;
  readonly #holdsSecret: (bytes: Uint8Array) => boolean;
  readonly #folderStamp: ReturnType<typeof folderStamps>;
  #folders = 0;

  constructor(options: ScanOptions) {
    this.#options = options;
    this.#folderStamp = folderStamps(options.folder);
    this.#holdsSecret = holdsOneOf(options.secrets);
  }

  /** Scans a folder. Returns the previous object itself if nothing has changed. */
  async folder(
    segments: readonly string[],
    { mode, stamp }: { readonly mode: number; readonly stamp?: Stamp | undefined },
    previous: ScannedFolder | undefined,
    above: readonly Scope[] | 'ignored',
  ): Promise<ScannedFolder> {
    if (++this.#folders % foldersAtOnce === 0) await turn();
    const folder = new FolderInScan(this.#options.folder, segments);
    try {
      const listed = previous?.stamp?.every((each, index) => each === stamp?.[index]) ? previous : undefined;
      const names = listed ? [...listed.entries.keys()] : readdirSync(folder.path);
      folder.scopes = above === 'ignored' ? above : this.#scopesAt(folder, names, above);
      const entries = new Map<string, Scanned>();
      let isUnchanged = previous?.mode === mode && previous.hash !== unknownHash;
      for (const name of names) {
        const before = previous?.entries.get(name);
        // Most entries are known files, so this avoids an await for them.
        const scanned = this.#knownFile(folder, name, before) ?? (await this.#entry(folder, name, before));
        if (scanned !== before) isUnchanged = false;
        if (scanned) entries.set(name, scanned);
      }
      const lasting = entries.size === names.length ? stamp : undefined;
      if (!previous || !isUnchanged || entries.size !== previous.entries.size) {
        return { ...(await this.#sealed(entries, mode, previous)), stamp: lasting };
      }
      return listed || !lasting ? previous : { ...previous, stamp: lasting };
    } finally {
      folder.close();
    }
  }

  /** Returns the previous entry if the file is unchanged and not left out. */
  #knownFile(folder: FolderInScan, name: string, before: Scanned | undefined): ScannedFile | undefined {
    if (before?.kind !== 'file' || !before.stamp || before.isRacy || folder.isIgnored(name, false)) return undefined;
    const stats = lookAt(folder.pathOf(name));
    const isKnown =
      stats?.isFile() &&
      stats.size === before.size &&
      stats.size <= this.#options.maxFileBytes &&
      (stats.mode & 0o777) === before.mode &&
      isSameStamp(before.stamp, stats);
    return isKnown ? before : undefined;
  }

  async #sealed(
    entries: ReadonlyMap<string, Scanned>,
    mode: number,
    previous: ScannedFolder | undefined,
  ): Promise<ScannedFolder> {
    const blob = blobOfTree(entries);
    if (blob.hash !== previous?.hash) await this.#options.found(blob);
    return { kind: 'folder', mode, hash: blob.hash, entries };
  }

  #scopesAt(folder: FolderInScan, names: readonly string[], above: readonly Scope[]): readonly Scope[] {
    if (!names.includes(ignoreFile)) return above;
    try {
      const { bytes } = readFile(folder.held.at(ignoreFile), maxRulesBytes);
      return [...above, scopeOf(folder.segments, bytes)];
    } catch {
      return above;
    }
  }

  async #entry(folder: FolderInScan, name: string, before: Scanned | undefined): Promise<Scanned | undefined> {
    try {
      const lookedAt = Date.now();
      const stats = lstatSync(folder.pathOf(name), { throwIfNoEntry: false });
      const isFolder = stats?.isDirectory() ?? false;
      const ignored = isOwnName(name) || folder.isIgnored(name, isFolder);
      if (ignored && !(await this.#isWanted(folder, name))) return this.#leaveOut(folder, name, 'ignored');
      // If a listed name has no stats, the file was deleted meanwhile, or its name is not UTF-8.
      if (!stats) return name.includes('\ufffd') ? this.#leaveOut(folder, name, 'unreadable') : undefined;
      if (nameProblem(name)) return this.#leaveOut(folder, name, 'unreadable');
      if (this.#holdsSecret(Buffer.from(name))) return this.#leaveOut(folder, name, 'secret');
      if (stats.isFile()) return await this.#file(folder, name, stats, before);
      if (stats.isSymbolicLink()) return this.#link(folder, name, before);
      if (!isFolder) return this.#leaveOut(folder, name, 'special');
      const previous = before?.kind === 'folder' ? before : undefined;
      const scopes = ignored ? 'ignored' : folder.scopes;
      const found = { mode: stats.mode & 0o777, stamp: this.#folderStamp(stats, lookedAt) };
      return await this.folder([...folder.segments, name], found, previous, scopes);
    } catch (error) {
      return this.#unreadable(folder, name, error);
    }
  }

  async #isWanted(folder: FolderInScan, name: string): Promise<boolean> {
    const segments = [...folder.segments, name];
    if (isOwnName(name) || !(await this.#options.isWanted?.(segments))) return false;
    this.wanted.add(segments.join('/'));
    return true;
  }

  async #file(
    folder: FolderInScan,
    name: string,
    stats: Stats,
    before: Scanned | undefined,
  ): Promise<Scanned | undefined> {
    if (stats.size > this.#options.maxFileBytes) return this.#leaveOut(folder, name, 'too-big');
    const { bytes, mode, stamp, isRacy } = readFile(folder.held.at(name), this.#options.maxFileBytes);
    if (this.#holdsSecret(bytes)) return this.#leaveOut(folder, name, 'secret');
    const hash = hashOf(bytes);
    const size = bytes.length;
    if (before?.kind !== 'file' || hash !== before.hash) await this.#options.found({ hash, bytes });
    return { kind: 'file', mode, size, hash, stamp, ...(isRacy && { isRacy }) };
  }

  #link(folder: FolderInScan, name: string, before: Scanned | undefined): Scanned | undefined {
    const target = readLink(folder.held.at(name));
    if (target === undefined) return this.#leaveOut(folder, name, 'unreadable');
    if (this.#holdsSecret(Buffer.from(target))) return this.#leaveOut(folder, name, 'secret');
    return before?.kind === 'link' && before.target === target ? before : { kind: 'link', target };
  }

  #unreadable(folder: FolderInScan, name: string, error: unknown): undefined {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EFBIG') return this.#leaveOut(folder, name, 'too-big');
    if (code === 'ENOENT') return undefined;
    if (code !== undefined && fileSystemCode.test(code)) return this.#leaveOut(folder, name, 'unreadable');
    throw error;
  }

  #leaveOut(folder: FolderInScan, name: string, reason: LeftOutReason): undefined {
    this.leftOut.set([...folder.segments, name].join('/'), reason);
    return undefined;
  }
}

/** The codes of errors that concern a single file and not the whole machine. */
const fileSystemCode =
  /^(?:EACCES|EPERM|ELOOP|ENOTDIR|EISDIR|ENAMETOOLONG|EIO|ENXIO|EBUSY|ETXTBSY|ENOTFILE|ESTALE|ENODEV)$/;

/** Returns the stats of a path. Returns undefined if the path does not exist or cannot be accessed. */
const lookAt = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/**
 * A folder during a scan. Stats are read by path, which is fast. Content is read through an open descriptor of the
 * folder, which is safe.
 */
class FolderInScan {
  readonly segments: readonly string[];
  readonly path: string;
  /** The ignore rules that apply here, or `ignored` if everything here is ignored. */
  scopes: readonly Scope[] | 'ignored' = 'ignored';
  readonly #root: string;
  #held: HeldFolder | undefined;
  #ignored: ((name: string, isFolder: boolean) => boolean) | undefined;

  constructor(root: string, segments: readonly string[]) {
    this.#root = root;
    this.segments = segments;
    this.path = [root, ...segments].join('/');
  }

  pathOf(name: string): string {
    return `${this.path}/${name}`;
  }

  isIgnored(name: string, isFolder: boolean): boolean {
    if (this.scopes === 'ignored') return true;
    this.#ignored ??= ignoredIn(this.scopes, this.segments);
    return this.#ignored(name, isFolder);
  }

  get held(): HeldFolder {
    this.#held ??= holdFolder(this.#root, this.segments);
    return this.#held;
  }

  close(): void {
    this.#held?.close();
  }
}

export const scanFolder = async (options: ScanOptions): Promise<Scan> => {
  const scanner = new Scanner(options);
  const root = await scanner.folder([], { mode: rootMode }, options.previous, defaultScopes);
  return { root, leftOut: scanner.leftOut, wanted: scanner.wanted };
};
