import { randomUUID } from 'node:crypto';
import { glob, link, lstat, mkdir, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PerdureError } from '../../../schema/error.ts';
import type { SessionKey } from '../../ports/store.ts';
import { ownFolder } from '../path.ts';
import { createWhole } from './create-whole.ts';
import { asWorktreeError } from './worktree-error.ts';

const fileName = join(ownFolder, 'bound.json');
const fileIn = (folder: string): string => join(folder, fileName);

const readKey = async (file: string): Promise<SessionKey | undefined> => {
  try {
    const key = JSON.parse(await readFile(file, 'utf8'));
    return typeof key?.session === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
};

/** The session that is bound to a folder. Undefined if there is none. */
const boundIn = (folder: string): Promise<SessionKey | undefined> => readKey(fileIn(folder));

const isSame = (a: SessionKey, b: SessionKey): boolean => a.session === b.session && a.workspace === b.workspace;

const inUse = (folder: string, { session }: SessionKey, known: boolean | undefined): PerdureError => {
  const advice =
    known === undefined
      ? `it is not in this store: close it in its own store, or remove ${fileIn(folder)}`
      : 'close that session first, or let this one work in a copy of the folder';
  return new PerdureError('CONFLICT', `${session} already works in ${folder}: ${advice}`, {
    details: { folder, session },
  });
};

const parentsOf = (folder: string): readonly string[] =>
  folder === dirname(folder) ? [folder] : [folder, ...parentsOf(dirname(folder))];

const unless = async (code: string, work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error) => {
      if (error.code === code) return false;
      throw error;
    },
  );

const noFolder = (own: string): PerdureError =>
  new PerdureError('FILE_UNAVAILABLE', `${own} is not a folder: move it elsewhere`, { details: { folder: own } });

const write = async (folder: string, key: SessionKey): Promise<boolean> => {
  const { workspace, session } = key;
  const own = join(folder, ownFolder);
  await unless('EEXIST', mkdir(own));
  try {
    if (!(await lstat(own)).isDirectory()) throw noFolder(own);
    return await createWhole(fileIn(folder), `${JSON.stringify({ workspace, session })}\n`);
  } catch (error) {
    // A release of another session at the same time removed the empty folder.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return write(folder, key);
    throw error;
  }
};

/** Releases a folder from a session. If another session bound it at the same moment, that binding is put back. */
export const releaseFolder = async (folder: string, key: SessionKey): Promise<void> => {
  const there = await boundIn(folder);
  if (!there || !isSame(there, key)) return;
  const taken = `${fileIn(folder)}.${randomUUID()}`;
  if (!(await unless('ENOENT', rename(fileIn(folder), taken)))) return;
  const other = await readKey(taken);
  if (other && !isSame(other, key)) await unless('EEXIST', link(taken, fileIn(folder)));
  await rm(taken);
  await rmdir(dirname(taken)).catch(() => undefined);
};

type IsAtWork = (other: SessionKey) => Promise<boolean | undefined>;

/** Rejects a folder if another session works in a subfolder. Hidden folders and dependencies are not searched. */
export const refuseBoundBelow = async (folder: string, isAtWork: IsAtWork): Promise<void> => {
  const exclude = (name: string): boolean => basename(name) === 'node_modules';
  for await (const file of glob(`*/**/${fileName}`, { cwd: folder, exclude })) {
    const below = join(folder, dirname(dirname(file)));
    const other = await boundIn(below);
    const known = other && (await isAtWork(other));
    if (other && known !== false) throw inUse(below, other, known);
  }
};

/**
 * Binds a folder to a session. Fails if another session works there or in a parent folder. `isAtWork` returns whether
 * the other session still needs its folder, or undefined if that session is not in this store.
 */
export const bindFolder = async (folder: string, key: SessionKey, isAtWork: IsAtWork): Promise<void> => {
  for (const each of parentsOf(folder)) {
    const other = await boundIn(each);
    if (!other || isSame(other, key)) continue;
    const known = await isAtWork(other);
    if (known !== false) throw inUse(each, other, known);
    await releaseFolder(each, other);
  }
  const isOurs = await asWorktreeError(folder, () => write(folder, key));
  const now = isOurs ? key : await boundIn(folder);
  if (!now || !isSame(now, key)) throw inUse(folder, now ?? key, true);
};
