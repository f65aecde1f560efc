import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import type { SessionKey } from '../ports/store.ts';
import { evict, type Summarize, summarizeByTurn, turnsOfKey } from '../session/compaction.ts';
import { decodeEvent, parseInput } from '../session/event-codec.ts';
import { execute } from './execute.ts';
import type { Scope } from './scope.ts';
import { messagesBackwards, readTranscript, readTurns, type TranscriptEntry } from './transcript.ts';

export interface CompactOptions {
  /** How many turns at the end stay as they are. */
  readonly keepTurns?: number | undefined;
  /** Without one, a summary that needs no model. */
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
  scope: Scope,
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
 * Puts a summary over the older turns. Nothing is deleted: the transcript keeps them, and `recall` brings any of them back. A summary takes
 * its time; when the session was rewound or compacted meanwhile, it fails with CONFLICT.
 */
export const compactSession = async (
  scope: Scope,
  key: SessionKey,
  options: CompactOptions = {},
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
    summary: parseInput('the summary', Summary, summary),
    evicted,
  };
  const overlay = { ...compaction, evicted: [...evicted], calls, summarizer: summarize.name || 'function' };
  await execute(scope, key, { type: 'compact', overlay, previous });
  return compaction;
};

const isOf = (message: Message, callId: string): boolean =>
  message.content.some((part) => 'callId' in part && part.callId === callId);

const outputAt = async (scope: Scope, key: SessionKey, seq: number): Promise<unknown> => {
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const [stored] = await scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 });
  const event = stored && decodeEvent(key.workspace, stored);
  return event?.type === 'tool.completed' ? event.payload.output : undefined;
};

/** What was left out of the context, by its key: `turn:3`, `turns:1-4`, `call:ID`, `output:SEQ`, `fact:KEY`, `summary`, or the name of a part of the state. */
export const recallKey = async (
  scope: Scope,
  key: SessionKey,
  wanted: string,
): Promise<readonly TranscriptEntry[] | unknown> => {
  const turns = turnsOfKey(wanted);
  if (turns) {
    const found = await readTurns(scope, key, turns);
    if (found.length > 0) return found;
  }
  const [, kind, rest] = /^(call|output|fact):(.+)$/s.exec(wanted) ?? [];
  if (kind === 'output') {
    const output = await outputAt(scope, key, Number(rest));
    if (output !== undefined) return output;
  }
  if (kind === 'call') {
    const found = (await readTranscript(scope, key)).filter(({ message }) => isOf(message, rest ?? ''));
    if (found.length > 0) return found;
  }
  const { state, compaction } = await scope.folds.head(key);
  if (wanted === 'summary' && compaction) return compaction.summary;
  if (kind === 'fact' && Object.hasOwn(state.facts, rest ?? '')) return state.facts[rest!];
  if (!kind && Object.hasOwn(state, wanted)) return state[wanted as keyof typeof state];
  throw new PerdureError(
    'POINT_NOT_FOUND',
    `there is nothing to recall under "${wanted}": keys look like turn:3, call:ID, fact:KEY`,
    {
      details: { key: wanted },
    },
  );
};
