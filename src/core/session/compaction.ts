import type { Message } from '../../schema/message.ts';
import type { ContextEntry } from './context.ts';

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
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
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

/** Needs no model and always says the same: a line a turn, the oldest left out first when there are too many. */
export const summarizeByTurn: Summarize = ({ entries, previous }) => {
  const turns = [...Map.groupBy(entries, ({ turn }) => turn)].map(([turn, all]) => turnLine(turn, all));
  const lines = [...(previous?.split('\n') ?? []), ...turns];
  let chars = 0;
  const kept = lines.toReversed().filter((line) => {
    chars += line.length + 1;
    return chars <= maxSummaryChars;
  });
  return kept.toReversed().join('\n');
};

/** The turns that a key such as `turn:3` or `turns:1-4` stands for. */
export const turnsOfKey = (key: string): { readonly from: number; readonly to: number } | undefined => {
  const [, from, to = from] = /^turns?:(\d{1,15})(?:-(\d{1,15}))?$/.exec(key) ?? [];
  return from === undefined ? undefined : { from: Number(from), to: Number(to) };
};

/** The keys under which what leaves the context can be recalled, and what left it before. */
export const evictedKeys = (entries: readonly ContextEntry[], before: readonly string[] = []): readonly string[] => {
  const last = entries.at(-1)?.turn;
  if (last === undefined) return before;
  const first = before.map(turnsOfKey).find((turns) => turns !== undefined)?.from ?? entries[0]!.turn;
  const calls = entries.flatMap(({ message }) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
      : [],
  );
  const turns = first === last ? `turn:${first}` : `turns:${first}-${last}`;
  return [turns, ...[...new Set(calls)].slice(-maxEvictedCalls).map((callId) => `call:${callId}`)];
};
