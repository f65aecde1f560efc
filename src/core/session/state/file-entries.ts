import type { PayloadOf } from '../../../schema/event.ts';
import { pointerOf } from '../../../schema/pointer.ts';
import { type ChangedFile, maxPointerChars, type State } from '../../../schema/state.ts';
import type { StateDraft } from './state-change.ts';

type FileEntry = State['filesModified'][string];
/** The cause of a change. It distinguishes the change from a later change of the same kind. */
type Cause = NonNullable<PayloadOf<'files.snapshotted'>['cause']> | { readonly after: number };

/**
 * The maximum number of entries per change. It is limited because a command can unpack more files than the state
 * should list. Files in `.git` are always grouped.
 */
const maxNamed = 1000;
/** The key that groups files of the whole worktree. */
export const everyFile = './';

/** Whether a path can be the key of an entry. */
const isKey = (path: string): boolean =>
  path !== '__proto__' && pointerOf('filesModified', path).length <= maxPointerChars;

const keyAt = (path: string, depth: number): string => {
  const segments = path.split('/');
  const inGit = segments.indexOf('.git') + 1;
  const named = inGit > 0 ? Math.min(inGit, depth) : depth;
  const key = segments.length <= named ? path : `${segments.slice(0, named).join('/')}/`;
  return depth > 0 && isKey(key) ? key : everyFile;
};

const groupsOf = (changes: readonly ChangedFile[]): ReadonlyMap<string, readonly ChangedFile[]> => {
  for (let depth = Math.max(1, ...changes.map(({ path }) => path.split('/').length)); ; depth--) {
    const groups = Map.groupBy(changes, ({ path }) => keyAt(path, depth));
    if (groups.size <= maxNamed || depth === 0) return groups;
  }
};

const entryFor = (key: string, group: readonly ChangedFile[], cause: Cause): FileEntry => {
  const { change, from } = group.at(-1)!;
  if (!key.endsWith('/')) return { change, ...(from !== undefined && { from }), ...cause };
  const isAlike = change !== 'renamed' && group.every((each) => each.change === change);
  return { change: isAlike ? change : 'modified', files: group.length, ...cause };
};

/**
 * Records the changed files in the state: the newest change of each path. A renamed file is recorded as deleted at its
 * old path.
 */
export const applyFileChanges = (
  draft: Pick<StateDraft, 'filesModified'>,
  changes: readonly ChangedFile[],
  cause: Cause,
): void => {
  const gone = changes.flatMap(({ from }): ChangedFile[] =>
    from === undefined ? [] : [{ path: from, change: 'deleted' }],
  );
  for (const [key, group] of groupsOf([...gone, ...changes])) draft.filesModified[key] = entryFor(key, group, cause);
};

export const countChanges = (changes: readonly ChangedFile[]): PayloadOf<'files.snapshotted'>['changed'] => {
  const count = (wanted: ChangedFile['change']): number => changes.filter(({ change }) => change === wanted).length;
  return {
    created: count('created'),
    modified: count('modified'),
    deleted: count('deleted'),
    renamed: count('renamed'),
  };
};
