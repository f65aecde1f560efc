import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import type { SessionKey } from '../ports/store.ts';
import { evictedKeys, type Summarize, summarizeByTurn } from '../session/compaction.ts';
import { parseInput } from '../session/event-codec.ts';
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

const KeepTurns = z.int().min(1).default(4);

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

/** Puts a summary over the older turns. Nothing is deleted: the transcript keeps them, and `recall` brings any of them back. */
export const compactSession = async (
  scope: Scope,
  key: SessionKey,
  options: CompactOptions = {},
): Promise<Compaction | undefined> => {
  const keepTurns = parseInput('keepTurns', KeepTurns, options.keepTurns);
  const { summarize = summarizeByTurn } = options;
  const { compaction, seq: head } = await scope.folds.head(key);
  const entries = await entriesAfter(scope, key, compaction?.to ?? 0, head);
  const turns = [...new Set(entries.map(({ turn }) => turn))];
  const leaving = new Set(turns.slice(0, -keepTurns));
  const left = entries.filter(({ turn }) => leaving.has(turn));
  if (left.length === 0) return undefined;
  const summary = parseInput(
    'the summary',
    Text.max(100_000),
    await summarize({ entries: left, previous: compaction?.summary }),
  );
  const overlay = {
    from: compaction?.from ?? left[0]!.seq,
    to: left.at(-1)!.seq,
    summary,
    evicted: [
      ...new Set([...(compaction?.evicted ?? []).filter((each) => each.startsWith('turn')), ...evictedKeys(left)]),
    ],
  };
  await execute(scope, key, { type: 'compact', overlay: { ...overlay, summarizer: summarize.name || 'function' } });
  return overlay;
};

const isOf = (message: Message, callId: string): boolean =>
  message.content.some((part) => 'callId' in part && part.callId === callId);

/** What was left out of the context, by its key: `turn:3`, `turns:1-4`, `call:ID`, `fact:KEY`, or the name of a part of the state. */
export const recallKey = async (
  scope: Scope,
  key: SessionKey,
  wanted: string,
): Promise<readonly TranscriptEntry[] | unknown> => {
  const [, kind, rest] = /^(turns?|call|fact):(.+)$/s.exec(wanted) ?? [];
  if (kind === 'turn' || kind === 'turns') {
    const [from = Number.NaN, to = from] = (rest ?? '').split('-').map(Number);
    const found =
      Number.isSafeInteger(from) && Number.isSafeInteger(to) ? await readTurns(scope, key, { from, to }) : [];
    if (found.length > 0) return found;
  }
  if (kind === 'call') {
    const found = (await readTranscript(scope, key)).filter(({ message }) => isOf(message, rest ?? ''));
    if (found.length > 0) return found;
  }
  const { state } = await scope.folds.head(key);
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
