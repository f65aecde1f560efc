import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { execute } from '../engine/execute.ts';
import type { LogAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { evict, type Summarize, summarizeByTurn } from '../session/context/compaction.ts';
import type { ContextEntry } from '../session/context/context-units.ts';
import { joinTracked, type TrackedCall } from '../session/context/tracked-calls.ts';
import type { SessionFold } from '../session/fold.ts';
import { historyOf } from './transcript.ts';

export interface CompactOptions {
  /** The number of newest turns that are not compacted. */
  readonly keepTurns?: number | undefined;
  /** Writes the summary. The default needs no model. */
  readonly summarize?: Summarize | undefined;
}

export interface Compaction {
  readonly from: number;
  readonly to: number;
  readonly summary: string;
  readonly evicted: readonly string[];
}

const Options = z.strictObject({
  keepTurns: z.int().min(1).default(4),
  summarize: z.custom<Summarize>((value) => typeof value === 'function', 'is not a function').optional(),
});
const Summary = Text.max(20_000).refine((text) => text.trim() !== '', 'is empty');

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

/**
 * Replaces the older turns in the context with a summary. The transcript keeps these turns, and `recall` returns any
 * of them. If the session is rewound or compacted while the summary is written, the compaction fails with CONFLICT.
 * With the `epoch` of a run, it fails with FENCED once another writer has taken over.
 */
export const compactSession = async (
  scope: WriteAccess,
  key: SessionKey,
  options: CompactOptions = {},
  epoch?: number,
): Promise<Compaction | undefined> => {
  const { keepTurns, summarize = summarizeByTurn } = parseInput('the compaction', Options, options);
  const fold = await scope.folds.head(key);
  const { compaction: previous } = fold;
  const { entries, calls: tracked } = await historyAfter(scope, key, previous?.to ?? 0, fold);
  const turns = [...new Set(entries.map(({ turn }) => turn))];
  const leaving = new Set(turns.slice(0, -keepTurns));
  const left = entries.filter(({ turn }) => leaving.has(turn));
  if (left.length === 0) return undefined;
  const summary = await summarize({ entries: left, previous: previous?.summary });
  const { evicted, calls } = evict(left, previous);
  const compaction: Compaction = {
    from: previous?.from ?? left[0]!.seq,
    to: Math.max(left.at(-1)!.seq, tracked.findLast(({ turn }) => leaving.has(turn))?.seq ?? 0),
    summary: (await scope.secrets.redactor()).text(parseInput('the summary', Summary, summary)),
    evicted,
  };
  const overlay = { ...compaction, evicted: [...evicted], calls, summarizer: summarize.name || 'function' };
  await execute(scope, key, { type: 'compact', overlay, previous }, { epoch });
  return compaction;
};
