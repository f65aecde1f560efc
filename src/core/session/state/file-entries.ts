import type { PayloadOf } from '../../../schema/event.ts';
import { pointerOf } from '../../../schema/pointer.ts';
import { type ChangedFile, maxPointerChars, type State } from '../../../schema/state.ts';
import type { StateDraft } from './state-change.ts';

type FileEntry = State['filesModified'][string];
/** What tells one change from the next of the same kind. */
type Cause = NonNullable<PayloadOf<'files.snapshotted'>['cause']> | { readonly after: number };

/** A command may unpack more files than anybody wants to see one by one, or that the state should hold. Nobody wants to see git's own. */
const maxNamed = 1000;
/** The key that stands for all files. */
export const everyFile = '../';

/** Not every path can be the key of an entry. */
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

/** What was found changed in a worktree, as the state tells it: the newest change of each path. What was renamed is gone from where it was. */
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
