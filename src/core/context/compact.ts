import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { execute } from '../engine/execute.ts';
import type { LogAccess, WriteAccess } from '../engine/scope.ts';
import type { Fence, SessionKey } from '../ports/store.ts';
import { evict, summarizeByTurn } from '../session/context/compaction.ts';
import type { ContextEntry } from '../session/context/context-units.ts';
import { type DroppedEntry, type ExtractedEntry, readSummary, type Summarize } from '../session/context/extraction.ts';
import { type EvictedContent, evictedContent } from '../session/context/recall-key.ts';
import { joinTracked, type TrackedCall } from '../session/context/tracked-calls.ts';
import { planExtraction, replacedByExtraction } from '../session/extraction-plan.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive, liveWithin } from '../session/live-lineage.ts';
import { commitRecord } from '../session/state/commit-record.ts';
import { commitsWithin } from '../state/commits.ts';
import { historyOf } from './transcript.ts';

export interface CompactOptions {
  /** The number of newest turns that are not compacted. */
  readonly keepTurns?: number | undefined;
  /** Writes the summary, and may extract facts and decisions. The default needs no model and extracts nothing. */
  readonly summarize?: Summarize | undefined;
}

export interface Compaction {
  readonly from: number;
  readonly to: number;
  readonly summary: string;
  /** What left the context: the turns, then the newest calls. */
  readonly evicted: readonly EvictedContent[];
  /** The paths of the facts and decisions that were extracted and committed, as `unverified`. */
  readonly extracted: readonly string[];
  /** The extracted facts and decisions that were not committed, and why. */
  readonly dropped: readonly DroppedEntry[];
}

const Options = z.strictObject({
  keepTurns: z.int().min(1).default(4),
  summarize: z.custom<Summarize>((value) => typeof value === 'function', 'is not a function').optional(),
});

/** The entries of a context after a seq, and the tracked calls among them. */
const historyAfter = async (scope: LogAccess, key: SessionKey, after: number, fold: SessionFold) => {
  const entries: ContextEntry[] = [];
  const calls: TrackedCall[] = [];
  for await (const item of historyOf(scope, key, fold)) {
    if (item.seq <= after) break;
    if ('callId' in item) calls.push(item);
    else entries.push(item);
  }
  return { entries: joinTracked(entries.reverse(), calls.reverse()), calls };
};

/** Whether a compaction committed the value that the entry has. A lift sets no value. */
const isFromCompaction = async (scope: LogAccess, key: SessionKey, { live, seq }: SessionFold, path: string) => {
  const within = { session: key.session, ranges: liveWithin(live, 0, seq) };
  for await (const { entries, origin } of commitsWithin(scope, within, path)) {
    if (entries.includes(path) && origin?.kind !== 'lift') return origin?.kind === 'compact';
  }
  return false;
};

/** The entries whose present values an earlier compaction committed, among those that the extraction would replace. */
const extractedBefore = async (
  scope: LogAccess,
  key: SessionKey,
  fold: SessionFold,
  entries: readonly ExtractedEntry[],
): Promise<ReadonlySet<string>> => {
  const found = new Set<string>();
  for (const path of replacedByExtraction(fold, entries)) {
    if (await isFromCompaction(scope, key, fold, path)) found.add(path);
  }
  return found;
};

/**
 * Replaces the older turns in the context with a summary. The transcript keeps these turns, and `recall` returns any
 * of them. Facts and decisions that the summarizer extracted are committed in the same append. If the session is
 * rewound or compacted while the summary is written, the compaction fails with CONFLICT. With the `fence` of a run, it
 * fails with FENCED once another writer has taken over.
 */
export const compactSession = async (
  scope: WriteAccess,
  key: SessionKey,
  options: CompactOptions = {},
  fence?: Fence,
): Promise<Compaction | undefined> => {
  const { keepTurns, summarize = summarizeByTurn } = parseInput('the compaction', Options, options);
  const fold = await scope.folds.head(key);
  const { compaction: previous } = fold;
  const { entries, calls: tracked } = await historyAfter(scope, key, previous?.to ?? 0, fold);
  const turns = [...new Set(entries.map(({ turn }) => turn))];
  const leaving = new Set(turns.slice(0, -keepTurns));
  const left = entries.filter(({ turn }) => leaving.has(turn));
  if (left.length === 0) return undefined;
  const given = await summarize({ entries: left, previous: previous?.summary });
  const { evicted, calls } = evict(left, previous);
  const from = previous?.from ?? left[0]!.seq;
  const to = Math.max(left.at(-1)!.seq, tracked.findLast(({ turn }) => leaving.has(turn))?.seq ?? 0);
  const covers = (seq: number): boolean => seq >= from && seq <= to && isLive(fold.live, seq);
  const read = readSummary(given, { entries: left, covers }, await scope.secrets.redactor());
  const overlay = {
    from,
    to,
    summary: read.text,
    evicted: [...evicted],
    calls,
    summarizer: summarize.name || 'function',
  };
  let dropped = read.dropped;
  const [, ...commits] = await execute(
    scope,
    key,
    async (now) => {
      const before = await extractedBefore(scope, key, now, read.entries);
      const plan = planExtraction(now, read.entries, overlay, (path) => before.has(path));
      dropped = [...read.dropped, ...plan.dropped];
      return { type: 'compact', overlay, previous, commits: plan.commits };
    },
    { fence },
  );
  const extracted = commits.flatMap((event) => commitRecord(event as SessionEvent<'state.committed'>).entries);
  return { from, to, summary: read.text, evicted: evicted.map(evictedContent), extracted, dropped };
};
