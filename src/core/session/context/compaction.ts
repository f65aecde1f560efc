import type { Message } from '../../../schema/message.ts';
import { shorten } from './clip.ts';
import type { ContextEntry } from './context-units.ts';

/** What a summariser is given: the messages that will leave the context, and the summary of what left before. */
export interface SummaryInput {
  readonly entries: readonly ContextEntry[];
  readonly previous?: string | undefined;
}

/** Any function will do: a model's, or the one below that needs none. */
export type Summarize = (input: SummaryInput) => string | Promise<string>;

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
    answered && `answered "${firstLine(answered.message, 160)}"`,
  ]
    .filter(Boolean)
    .join(' ');
};

/** Needs no model and always says the same: a line a turn, the oldest left out first when there are too many, and the last that fits cut. */
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

/** The turns that a key such as `turn:3` or `turns:1-4` stands for. */
export const turnsOfKey = (key: string): { readonly from: number; readonly to: number } | undefined => {
  const [, from, to = from] = /^turns?:(\d{1,15})(?:-(\d{1,15}))?$/.exec(key) ?? [];
  return from === undefined ? undefined : { from: Number(from), to: Number(to) };
};

const callKeys = (entries: readonly ContextEntry[]): readonly string[] =>
  entries.flatMap(({ message }) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? [`call:${part.callId}`] : []))
      : [],
  );

/** What can be recalled when it has left the context: the turns, the newest calls, and how many calls there are in all. */
export interface Evicted {
  readonly evicted: readonly string[];
  readonly calls?: number | undefined;
}

/** Of what leaves the context now, and of what left it before. */
export const evict = (entries: readonly ContextEntry[], before: Evicted = { evicted: [] }): Evicted => {
  const [turnsBefore = '', ...callsBefore] = before.evicted;
  const first = turnsOfKey(turnsBefore)?.from ?? entries[0]!.turn;
  const last = entries.at(-1)!.turn;
  const known = new Set(callsBefore);
  const made = [...new Set(callKeys(entries))].filter((key) => !known.has(key));
  return {
    evicted: [
      first === last ? `turn:${first}` : `turns:${first}-${last}`,
      ...[...callsBefore, ...made].slice(-maxEvictedCalls),
    ],
    calls: (before.calls ?? callsBefore.length) + made.length,
  };
};
