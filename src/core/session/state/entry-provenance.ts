import { entryOf } from '../../../schema/pointer.ts';
import { hasProvenance, lowestProvenance, type PatchOperation, type Provenance } from '../../../schema/state.ts';
import type { SessionFold } from '../fold.ts';
import { type Mutation, type StateChange, valueAt } from './state-change.ts';
import { entriesTouched } from './touched-paths.ts';

type Levels = Readonly<Record<string, Provenance>>;

const isContainer = (value: unknown): boolean => value !== null && typeof value === 'object';

const collectionOf = (entry: string): string => entry.split('/').slice(0, 2).join('/');

/**
 * The provenance of values copied or moved within a patch, by their target: an entry, a collection or the whole state.
 */
class Copies {
  readonly #known: Levels;
  readonly #levels = new Map<string, Provenance>();

  constructor(known: Levels) {
    this.#known = known;
  }

  add(from: string, to: string): void {
    const levels = [...this.#levelsAt(entryOf(from)), ...this.at(entryOf(to))];
    if (levels.length > 0) this.#levels.set(entryOf(to), lowestProvenance(levels));
  }

  at(entry: string): readonly Provenance[] {
    return [entry, collectionOf(entry), ''].flatMap((place) => this.#levels.get(place) ?? []);
  }

  /** Bookkeeping has no provenance of its own, so nothing vouches for a copy of it. */
  #levelsAt(source: string): readonly Provenance[] {
    if (!hasProvenance(source)) return ['unverified'];
    const known = this.#known[source];
    if (known) return [known, ...this.at(source)];
    const below = [...Object.entries(this.#known), ...this.#levels].filter(([path]) => path.startsWith(`${source}/`));
    return [...this.at(source), ...below.map(([, level]) => level)];
  }
}

const copiesIn = (change: Mutation | readonly PatchOperation[], known: Levels): Copies => {
  const copies = new Copies(known);
  for (const operation of typeof change === 'function' ? [] : change) {
    if (operation.op === 'copy' || operation.op === 'move') copies.add(operation.from, operation.path);
  }
  return copies;
};

/**
 * The entries whose provenance is lower than that of the change itself. An edited list or record keeps its lower
 * provenance, however much of it changed. A value copied from elsewhere in the state keeps the provenance it had there.
 */
export const loweredEntries = (
  fold: SessionFold,
  asked: Mutation | readonly PatchOperation[],
  { state, delta }: StateChange,
  provenance: Provenance,
): Levels => {
  const copies = copiesIn(asked, fold.provenance);
  const levelOf = (path: string): Provenance => {
    const isEdited = isContainer(valueAt(fold.state, path)) && isContainer(valueAt(state, path));
    const had = isEdited ? fold.provenance[path] : undefined;
    return lowestProvenance([provenance, ...copies.at(path), ...(had ? [had] : [])]);
  };
  return Object.fromEntries(
    entriesTouched(delta)
      .filter((path) => hasProvenance(path) && valueAt(state, path) !== undefined && levelOf(path) !== provenance)
      .map((path) => [path, levelOf(path)]),
  );
};
