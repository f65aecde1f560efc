import { segmentsOfPointer } from '../../../schema/pointer.ts';
import type { State, StoredOperation } from '../../../schema/state.ts';
import { entriesTouched } from './touched-paths.ts';

/** The maximum number of paths whose order is kept. */
export const maxRecentFiles = 50;

const isOfFiles = ({ path }: StoredOperation): boolean => path.startsWith('/filesModified');

/** The paths in `filesModified` that changed last, after a commit. The newest is at the end. */
export const recentFilesAfter = (
  before: readonly string[],
  { filesModified }: State,
  delta: readonly StoredOperation[],
): readonly string[] => {
  if (!delta.some(isOfFiles)) return before;
  const touched = entriesTouched(delta.filter(isOfFiles)).flatMap((path) => segmentsOfPointer(path).slice(1, 2));
  const moved = new Set(touched);
  return [...before.filter((path) => !moved.has(path)), ...moved]
    .filter((path) => Object.hasOwn(filesModified, path))
    .slice(-maxRecentFiles);
};

/** All paths in `filesModified`, those that changed last first. */
export const filesNewestFirst = (
  { filesModified }: Pick<State, 'filesModified'>,
  recent: readonly string[],
): readonly string[] => {
  const newest = new Set(recent.toReversed());
  const others = Object.keys(filesModified).filter((path) => !newest.has(path));
  return [...newest, ...others.toReversed()];
};
