import type { Message } from '../../../schema/message.ts';
import { shorten } from './clip.ts';
import type { ContextEntry } from './context-units.ts';
import type { Summarize } from './extraction.ts';
import { callKey, turnsKey, turnsOfKey } from './recall-key.ts';

const maxSummaryChars = 8000;
const maxEvictedCalls = 200;

const firstLine = (message: Message, maxChars: number): string => {
  const text = message.content
    .map((part) => ('text' in part ? part.text : part.type === 'tool-call' ? `[${part.tool}]` : ''))
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return shorten(text, maxChars);
};

const turnLine = (turn: number, entries: readonly ContextEntry[]): string => {
  const asked = entries.find(({ message }) => message.role === 'user');
  const answered = entries.findLast(({ message }) => message.role === 'assistant');
  const calls = entries.flatMap(({ message }) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.tool] : []))
      : [],
  );
  const used = [...Map.groupBy(calls, (tool) => tool)].map(
    ([tool, all]) => `${tool}${all.length > 1 ? ` ×${all.length}` : ''}`,
  );
  return [
    `Turn ${turn}:`,
    asked && `asked "${firstLine(asked.message, 160)}"`,
    used.length > 0 && `used ${used.join(', ')}`,
    answered && `${answered.brokenOff ? 'began to answer' : 'answered'} "${firstLine(answered.message, 160)}"`,
  ]
    .filter(Boolean)
    .join(' ');
};

/**
 * Writes one line per turn, deterministically and without a model. When the summary gets too long, the oldest lines are
 * dropped first.
 */
export const summarizeByTurn: Summarize = ({ entries, previous }) => {
  const turns = [...Map.groupBy(entries, ({ turn }) => turn)].map(([turn, all]) => turnLine(turn, all));
  const lines = [...(previous?.split('\n') ?? []), ...turns];
  const kept: string[] = [];
  let room = maxSummaryChars;
  for (const line of lines.toReversed()) {
    if (room < 1) break;
    kept.push(shorten(line, room));
    room -= line.length + 1;
  }
  return kept.toReversed().join('\n');
};

const callKeys = (entries: readonly ContextEntry[]): readonly string[] =>
  entries.flatMap(({ message, turn }) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? [callKey(part, turn)] : []))
      : [],
  );

/**
 * The keys of evicted content that can be recalled: the turns and the newest calls. Also holds how many different keys
 * the calls have in total.
 */
export interface Evicted {
  readonly evicted: readonly string[];
  readonly calls?: number | undefined;
}

/** Adds the entries that leave the context now to the entries that left it before. */
export const evict = (entries: readonly ContextEntry[], before: Evicted = { evicted: [] }): Evicted => {
  const [turnsBefore = '', ...callsBefore] = before.evicted;
  const first = turnsOfKey(turnsBefore)?.from ?? entries[0]!.turn;
  const last = entries.at(-1)!.turn;
  const known = new Set(callsBefore);
  const made = [...new Set(callKeys(entries))].filter((key) => !known.has(key));
  return {
    evicted: [turnsKey(first, last), ...[...callsBefore, ...made].slice(-maxEvictedCalls)],
    calls: (before.calls ?? callsBefore.length) + made.length,
  };
};
