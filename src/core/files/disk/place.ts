import { lstat, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PerdureError } from '../../../schema/error.ts';
import type { PayloadOf } from '../../../schema/event.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { makeFolder } from '../../host/make-folder.ts';
import type { BlobHash } from '../../ports/blobs.ts';
import type { SessionKey } from '../../ports/store.ts';
import { emptyTree } from '../tree.ts';
import { isThisMachine } from './machine.ts';
import { asWorktreeError } from './worktree-error.ts';

/** Where the files of a session are on this machine. */
export interface WorktreePlace {
  /** What the runtime keeps of the session here. */
  readonly home: string;
  readonly folder: string;
  /** For what its commands throw away. */
  readonly temporary: string;
  /** For what no snapshot holds and was in the way of what one does; nothing of a person's own folder is moved. */
  readonly aside: string | undefined;
  readonly cacheFile: string;
  readonly markFile: string;
  /** Of who works in a person's own folder. */
  readonly lockFile: string;
  /** It is a person's own folder: what is there counts, and nothing is taken back unasked. */
  readonly isBound: boolean;
}

/** Where the homes of sessions are. */
export const homesOf = (data: string, workspace: WorkspaceId): string => join(data, 'worktrees', workspace);

/** Everything of a session in one folder, but for a person's own. */
export const placeIn = (home: string, boundTo?: string): WorktreePlace => {
  const isBound = boundTo !== undefined;
  const kind = isBound ? 'bound' : 'own';
  return {
    home,
    folder: boundTo ?? join(home, 'files'),
    temporary: join(home, 'tmp'),
    aside: isBound ? undefined : join(home, 'aside'),
    cacheFile: join(home, `${kind}-stats`),
    markFile: join(home, `${kind}-mark`),
    lockFile: join(home, 'lock'),
    isBound,
  };
};

export const placeOf = (data: string, { workspace, session }: SessionKey, boundTo?: string): WorktreePlace =>
  placeIn(join(homesOf(data, workspace), session), boundTo);

/** A session that works in a person's own folder on another machine has one of its own here. */
export const placeHere = async (
  data: string,
  key: SessionKey,
  boundTo: PayloadOf<'files.bound'> | undefined,
): Promise<WorktreePlace> =>
  placeOf(data, key, boundTo && (await isThisMachine(data, boundTo.machine)) ? boundTo.path : undefined);

/** For its user alone. A person's own folder is not made anew when it is gone. */
export const makePlace = async ({ folder, temporary, isBound }: WorktreePlace): Promise<void> => {
  await asWorktreeError(folder, async () => {
    await makeFolder(temporary, 0o700);
    if (isBound) return;
    await makeFolder(folder, 0o700);
    if ((await lstat(folder)).isDirectory()) return;
    throw new PerdureError('FILE_UNAVAILABLE', `the worktree ${folder} is a link, which is not followed: remove it`, {
      details: { folder },
    });
  });
};

/** What the worktree was when it was last looked at or brought to something; what it is otherwise, somebody else made. */
export interface Mark {
  /** Two while an event is being written that tells of the second: only the first is in a log for sure. */
  readonly trees: readonly BlobHash[];
  /** The log was known up to here. */
  readonly seq: number;
  /** It is being brought to its tree from this one: of what changes in between, each file is of either. */
  readonly from?: BlobHash | undefined;
  /** The call that makes anew what snapshots leave out, while it does. */
  readonly preparing?: { readonly tool: string; readonly callId: string } | undefined;
  /** What snapshots leave out was made anew since it was brought there. */
  readonly isPrepared?: boolean | undefined;
}

export const newWorktree: Mark = { trees: [emptyTree.hash], seq: 1 };

const isMark = (value: unknown): value is Mark => {
  const { trees, seq, from = '' } = (value ?? {}) as Partial<Mark>;
  return (
    Array.isArray(trees) &&
    trees.length > 0 &&
    [...trees, from].every((tree) => typeof tree === 'string') &&
    typeof seq === 'number'
  );
};

/** One that is lost makes the worktree somebody else's: it is kept, and then brought to what the log says. */
export const readMark = async ({ markFile }: WorktreePlace): Promise<Mark | undefined> => {
  try {
    const mark: unknown = JSON.parse(await readFile(markFile, 'utf8'));
    return isMark(mark) ? mark : undefined;
  } catch {
    return undefined;
  }
};

/** Of a person's own folder it is on disk when this returns: without it, what was written from elsewhere would look deleted by that person. */
export const writeMark = async ({ markFile, isBound }: WorktreePlace, mark: Mark): Promise<void> => {
  const draft = `${markFile}.new`;
  await writeFile(draft, JSON.stringify(mark), { flush: isBound });
  await rename(draft, markFile);
};
