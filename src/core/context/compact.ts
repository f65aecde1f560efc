import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { execute } from '../engine/execute.ts';
import type { LogAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { evict, type Summarize, summarizeByTurn } from '../session/context/compaction.ts';
import { messagesBackwards, type TranscriptEntry } from './transcript.ts';

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

const entriesAfter = async (
  scope: LogAccess,
  key: SessionKey,
  after: number,
  upTo: number,
): Promise<readonly TranscriptEntry[]> => {
  const entries: TranscriptEntry[] = [];
  for await (const entry of messagesBackwards(scope, key, { seq: upTo })) {
    if (entry.seq <= after) break;
    entries.push(entry);
  }
  return entries.reverse();
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
  const { compaction: previous, seq: head } = await scope.folds.head(key);
  const entries = await entriesAfter(scope, key, previous?.to ?? 0, head);
  const turns = [...new Set(entries.map(({ turn }) => turn))];
  const leaving = new Set(turns.slice(0, -keepTurns));
  const left = entries.filter(({ turn }) => leaving.has(turn));
  if (left.length === 0) return undefined;
  const summary = await summarize({ entries: left, previous: previous?.summary });
  const { evicted, calls } = evict(left, previous);
  const compaction: Compaction = {
    from: previous?.from ?? left[0]!.seq,
    to: left.at(-1)!.seq,
    summary: (await scope.secrets.redactor()).text(parseInput('the summary', Summary, summary)),
    evicted,
  };
  const overlay = { ...compaction, evicted: [...evicted], calls, summarizer: summarize.name || 'function' };
  await execute(scope, key, { type: 'compact', overlay, previous }, { epoch });
  return compaction;
};
