import { hash, randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Stamp } from './read-file.ts';
import type { Scanned, ScannedFolder } from './scan.ts';

/**
 * The last scan of a worktree. If the cache is lost, outdated or of another worktree, more files are read than
 * necessary.
 */
export interface StatCache {
  readonly root: ScannedFolder;
  /** Identifies the secrets that the scan searched for: a salt, and the hash of salt and secrets. */
  readonly secrets: string;
}

const saltBytes = 16;

const sealWith = (salt: string, secrets: readonly string[]): string =>
  `${salt}:${hash('sha256', JSON.stringify([salt, ...secrets.toSorted()]), 'hex')}`;

export const sealSecrets = (secrets: readonly string[]): string =>
  sealWith(randomBytes(saltBytes).toString('hex'), secrets);

export const isSealOf = (seal: string, secrets: readonly string[]): boolean =>
  sealWith(seal.slice(0, seal.indexOf(':')), secrets) === seal;

type Row = readonly [name: string, ...rest: unknown[]];

const rowOf = (name: string, entry: Scanned): Row => {
  if (entry.kind === 'link') return [name, entry.target];
  if (entry.kind === 'folder') return [name, entry.mode, entry.hash, rowsOf(entry), ...(entry.stamp ?? [])];
  return [name, entry.mode, entry.hash, entry.size, ...(entry.isRacy ? [] : (entry.stamp ?? []))];
};
const rowsOf = (folder: ScannedFolder): readonly Row[] =>
  [...folder.entries].map(([name, entry]) => rowOf(name, entry));

const entryOf = ([, first, hash, third, ...rest]: Row): Scanned => {
  if (typeof first === 'string') return { kind: 'link', target: first };
  const known = {
    mode: first as number,
    hash: hash as string,
    ...(rest.length === 3 && { stamp: rest as never as Stamp }),
  };
  return Array.isArray(third)
    ? { kind: 'folder', ...known, entries: entriesOf(third) }
    : { kind: 'file', ...known, size: third as number };
};
const entriesOf = (rows: readonly Row[]): ReadonlyMap<string, Scanned> =>
  new Map(rows.map((row) => [row[0], entryOf(row)]));

/** Reads the cache. Returns undefined if the file is missing or incomplete. */
export const readStatCache = (file: string): StatCache | undefined => {
  try {
    const text = readFileSync(file, 'utf8');
    const end = text.indexOf('\n');
    if (hash('sha256', text.slice(end + 1), 'hex') !== text.slice(0, end)) return undefined;
    const [secrets, row] = JSON.parse(text.slice(end + 1)) as [string, Row];
    return { secrets, root: entryOf(row) as ScannedFolder };
  } catch {
    return undefined;
  }
};

/** Writes the cache atomically. Does not recreate a folder that was removed meanwhile. */
export const writeStatCache = (file: string, { secrets, root }: StatCache): void => {
  const text = JSON.stringify([secrets, rowOf('', root)]);
  const draft = `${file}.draft`;
  writeFileSync(draft, `${hash('sha256', text, 'hex')}\n${text}`, { mode: 0o600 });
  renameSync(draft, file);
};
