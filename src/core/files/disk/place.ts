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

/** The folders and files of a session on this machine. */
export interface WorktreePlace {
  /** The folder for all data of the session that the runtime keeps on this machine. */
  readonly home: string;
  readonly folder: string;
  /** The folder for temporary files of commands. */
  readonly temporary: string;
  /**
   * The folder for left-out files that were at a path where a restore had to write. Undefined for a person's own
   * folder, where nothing is moved.
   */
  readonly aside: string | undefined;
  readonly cacheFile: string;
  readonly markFile: string;
  /** The lock of the process that works in a person's own folder. */
  readonly lockFile: string;
  /**
   * Whether this is a person's own folder. Its content has precedence, and nothing in it is reverted without a
   * request.
   */
  readonly isBound: boolean;
}

/** The folder that contains the homes of a workspace's sessions. */
export const homesOf = (data: string, workspace: WorkspaceId): string => join(data, 'worktrees', workspace);

/** Returns the places of a session. All of them are in one folder, except a person's own folder. */
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

/**
 * Returns the place of a session on this machine. A session that is bound to a folder on another machine uses its own
 * worktree on this one.
 */
export const placeHere = async (
  data: string,
  key: SessionKey,
  boundTo: PayloadOf<'files.bound'> | undefined,
): Promise<WorktreePlace> =>
  placeOf(data, key, boundTo && (await isThisMachine(data, boundTo.machine)) ? boundTo.path : undefined);

/** Creates the folders, private to the user. Does not recreate a person's own folder. */
export const makePlace = async ({ folder, temporary, isBound }: WorktreePlace): Promise<void> => {
  await asWorktreeError(folder, async () => {
    await makeFolder(temporary, 0o700);
    if (isBound) return;
    await makeFolder(folder, 0o700);
    if ((await lstat(folder)).isDirectory()) return;
    throw new PerdureError(
      'FILE_UNAVAILABLE',
      `the worktree ${folder} is a symbolic link, and links are not followed: remove it`,
      {
        details: { folder },
      },
    );
  });
};

/** The state of a worktree when it was last scanned or restored. Any later difference was caused by someone else. */
export interface Mark {
  /**
   * The tree of the worktree. There is a second tree while its event is being written, and only the first is certainly
   * in the log.
   */
  readonly trees: readonly BlobHash[];
  /** The seq up to which the log had been read. */
  readonly seq: number;
  /** Set during a restore: the tree before it. Each file is still in its old or already in its new version. */
  readonly from?: BlobHash | undefined;
  /** The call that runs the agent's `prepare` command, while it runs. */
  readonly preparing?: { readonly tool: string; readonly callId: string } | undefined;
  /** Whether `prepare` has run since the last restore. */
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

/**
 * Reads the mark of a worktree. Without a mark, the whole worktree is treated as changed by someone else: it is saved,
 * and then restored to the files in the log.
 */
export const readMark = async ({ markFile }: WorktreePlace): Promise<Mark | undefined> => {
  try {
    const mark: unknown = JSON.parse(await readFile(markFile, 'utf8'));
    return isMark(mark) ? mark : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Writes the mark. For a person's own folder, it is durable when this returns. If the mark were lost, files that were
 * written elsewhere would look as if that person had deleted them.
 */
export const writeMark = async ({ markFile, isBound }: WorktreePlace, mark: Mark): Promise<void> => {
  const draft = `${markFile}.new`;
  await writeFile(draft, JSON.stringify(mark), { flush: isBound });
  await rename(draft, markFile);
};
