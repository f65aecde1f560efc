import { glob, mkdir, open, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PerdureError } from '../../../schema/error.ts';
import type { SessionKey } from '../../ports/store.ts';
import { ownFolder } from '../path.ts';
import { asWorktreeError } from './worktree-error.ts';

const fileName = join(ownFolder, 'bound.json');
const fileIn = (folder: string): string => join(folder, fileName);

/** The session that works in a folder; undefined when none does. */
const boundIn = async (folder: string): Promise<SessionKey | undefined> => {
  try {
    const bound = JSON.parse(await readFile(fileIn(folder), 'utf8'));
    return typeof bound?.session === 'string' ? bound : undefined;
  } catch {
    return undefined;
  }
};

const isSame = (a: SessionKey, b: SessionKey): boolean => a.session === b.session && a.workspace === b.workspace;

const inUse = (folder: string, { session }: SessionKey, known: boolean | undefined): PerdureError => {
  const advice =
    known === undefined
      ? `it is not in this store: close it in its own, or remove ${fileIn(folder)}`
      : 'close it first, or give this one a copy of the folder';
  return new PerdureError('CONFLICT', `${session} works in ${folder}: ${advice}`, { details: { folder, session } });
};

const parentsOf = (folder: string): readonly string[] =>
  folder === dirname(folder) ? [folder] : [folder, ...parentsOf(dirname(folder))];

const write = async (folder: string, { workspace, session }: SessionKey): Promise<boolean> => {
  await mkdir(join(folder, ownFolder), { recursive: true });
  try {
    await using file = await open(fileIn(folder), 'wx');
    await file.writeFile(`${JSON.stringify({ workspace, session })}\n`);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

type IsAtWork = (other: SessionKey) => Promise<boolean | undefined>;

/** Where another session works further down, but for hidden folders and dependencies. */
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
 * Lets a session work in a folder, and no other one there or further up. `isAtWork` says whether another still needs it; undefined when
 * it is not known here.
 */
export const bindFolder = async (folder: string, key: SessionKey, isAtWork: IsAtWork): Promise<void> => {
  for (const each of parentsOf(folder)) {
    const other = await boundIn(each);
    if (!other || isSame(other, key)) continue;
    const known = await isAtWork(other);
    if (known !== false) throw inUse(each, other, known);
    await rm(fileIn(each), { force: true });
  }
  const isOurs = await asWorktreeError(folder, () => write(folder, key));
  const now = isOurs ? key : await boundIn(folder);
  if (!now || !isSame(now, key)) throw inUse(folder, now ?? key, true);
};

/** For another session. */
export const releaseFolder = (folder: string): Promise<void> => rm(fileIn(folder), { force: true });
