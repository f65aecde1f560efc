import { segmentsOfPointer } from '../../schema/pointer.ts';
import type { DroppedEntry, ExtractedEntry } from './context/extraction.ts';
import { keyName } from './context/recall-key.ts';
import type { CommitCommand } from './decide-commit.ts';
import type { SessionFold } from './fold.ts';
import { isSameJson } from './state/patch-between.ts';
import { valueAt } from './state/state-change.ts';

interface CompactedBy {
  readonly from: number;
  readonly to: number;
  readonly evicted: readonly string[];
  readonly summarizer: string;
}

export interface ExtractionPlan {
  readonly commits: readonly CommitCommand[];
  readonly dropped: readonly DroppedEntry[];
}

const isPinned = ({ state }: SessionFold, path: string): boolean => {
  const [collection, id = ''] = segmentsOfPointer(path);
  return collection === 'facts' && Object.hasOwn(state.pins, id);
};

/** Why the state keeps the value that it has. Undefined if it has none, or one that may be replaced. */
const keptBecause = (fold: SessionFold, path: string, isExtracted: (path: string) => boolean): string | undefined => {
  if (isPinned(fold, path)) return 'the fact is pinned';
  const provenance = fold.provenance[path];
  if (provenance !== 'unverified')
    return `the state has another value, which is ${provenance ?? 'not from a compaction'}`;
  return isExtracted(path) ? undefined : 'the state has another value, which is not from a compaction';
};

/** The entries whose other value in the state may only be replaced if an earlier compaction committed it. */
export const replacedByExtraction = (fold: SessionFold, entries: readonly ExtractedEntry[]): readonly string[] =>
  entries.flatMap(({ path, value }) => {
    const known = valueAt(fold.state, path);
    const isOpen = known !== undefined && !isSameJson(known, value) && !keptBecause(fold, path, () => true);
    return isOpen ? [path] : [];
  });

/**
 * Plans the commits of extracted entries. Entries with the same sources share a commit. An entry that the state has
 * already is left out. `isExtracted` says whether an earlier compaction committed the present value of an entry.
 */
export const planExtraction = (
  fold: SessionFold,
  entries: readonly ExtractedEntry[],
  { from, to, evicted, summarizer }: CompactedBy,
  isExtracted: (path: string) => boolean,
): ExtractionPlan => {
  const dropped: DroppedEntry[] = [];
  const kept = new Map<string, ExtractedEntry>();
  for (const entry of entries) {
    const { path, value } = entry;
    const known = valueAt(fold.state, path);
    if (known !== undefined && isSameJson(known, value)) continue;
    const reason = kept.has(path)
      ? 'the summarizer named it twice'
      : known !== undefined && keptBecause(fold, path, isExtracted);
    if (reason) dropped.push({ entry: path, reason });
    else kept.set(path, entry);
  }
  const bySources = Map.groupBy(kept.values(), ({ sources }) => sources.join());
  const commits = [...bySources.values()].map(
    (group): CommitCommand => ({
      type: 'commit',
      change: group.map(({ path, value }) => ({ op: 'add', path, value })),
      why: `extracted by ${summarizer} when ${keyName(evicted[0] ?? 'earlier turns')} left the context`,
      provenance: 'unverified',
      by: 'model',
      derivedFrom: group[0]!.sources.map((seq) => ({ seq, provenance: 'unverified' })),
      origin: { kind: 'compact', from, to },
      agents: new Map(),
    }),
  );
  return { commits, dropped };
};
