import type { PayloadOf } from '../../../schema/event.ts';
import { entryOf } from '../../../schema/pointer.ts';
import { hasProvenance, type Provenance, type StoredOperation } from '../../../schema/state.ts';

export interface TouchedPath {
  readonly path: string;
  /** The provenance of the entry that contains the path. Undefined for bookkeeping. */
  readonly provenance: Provenance | undefined;
}

type Committed = PayloadOf<'state.committed'>;

/** The distinct paths that a commit changes, or whose provenance it lifts. */
export const touchedPaths = (
  commit: Pick<Committed, 'delta' | 'provenance' | 'entryProvenance' | 'origin'>,
): readonly TouchedPath[] => {
  const { delta, provenance = 'unverified', entryProvenance, origin } = commit;
  const paths = origin?.kind === 'lift' ? origin.paths : delta.flatMap(({ op, path }) => (op === 'test' ? [] : [path]));
  return [...new Set(paths)].map((path) => ({
    path,
    provenance: hasProvenance(path) ? (entryProvenance?.[entryOf(path)] ?? provenance) : undefined,
  }));
};

/**
 * The distinct entries that a delta changes, as paths of two segments. For a replaced collection, returns the path of
 * the collection.
 */
export const entriesTouched = (delta: readonly StoredOperation[]): readonly string[] => [
  ...new Set(delta.flatMap(({ op, path }) => (op === 'test' ? [] : [entryOf(path)]))),
];
