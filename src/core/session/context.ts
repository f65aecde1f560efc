import { PerdureError } from '../../schema/error.ts';
import type { Message, ToolCallPart, ToolResultPart } from '../../schema/message.ts';

/** A message of the live lineage and the turn it belongs to. */
export interface ContextEntry {
  readonly seq: number;
  readonly turn: number;
  readonly message: Message;
}

export interface Context {
  /** Instructions, the digest of the state at the start of the turn, and the summary of what was compacted. */
  readonly system: string;
  readonly messages: readonly Message[];
  /** The first event that the messages come from; 0 when there are none. */
  readonly from: number;
  readonly tokens: number;
}

export const defaultContextTokens = 100_000;

export const textTokens = (text: string): number => Math.ceil(text.length / 4);

/** Four characters of JSON to a token: close enough to plan by, and always on hand. */
export const estimateTokens = (message: Message): number => Math.ceil(JSON.stringify(message.content).length / 4) + 4;

/** What may not be torn apart: a message, or a message that makes calls together with their results. */
interface Unit {
  readonly seq: number;
  readonly turn: number;
  readonly messages: readonly Message[];
  readonly tokens: number;
}

const interrupted = ({ callId, tool }: ToolCallPart): ToolResultPart => ({
  type: 'tool-result',
  callId,
  tool,
  outcome: 'interrupted',
  output: 'No result was recorded for this call.',
});

/**
 * Puts one message with the results right after each message with calls, as providers demand. A call without a recorded result gets an
 * interrupted one; a result without its call is left out.
 */
const pairCalls = (entries: readonly ContextEntry[]): readonly Unit[] => {
  const results = new Map<string, { part: ToolResultPart; id: Message['id']; index: number }[]>();
  entries.forEach(({ message }, index) => {
    if (message.role !== 'tool') return;
    for (const part of message.content) {
      const known = results.get(part.callId);
      if (known) known.push({ part, id: message.id, index });
      else results.set(part.callId, [{ part, id: message.id, index }]);
    }
  });
  return entries.flatMap(({ seq, turn, message }, index): Unit[] => {
    if (message.role === 'tool') return [];
    const unit = (messages: readonly Message[]): Unit[] => [
      { seq, turn, messages, tokens: messages.reduce((sum, each) => sum + estimateTokens(each), 0) },
    ];
    const calls = message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : [];
    if (calls.length === 0) return unit([message]);
    const answers = calls.map((call) => {
      const waiting = results.get(call.callId) ?? [];
      const found = waiting.findIndex((result) => result.index > index);
      return found < 0 ? { part: interrupted(call), id: message.id } : waiting.splice(found, 1)[0]!;
    });
    return unit([message, { id: answers[0]!.id, role: 'tool', content: answers.map(({ part }) => part) }]);
  });
};

/** Whole turns from the newest back, while they fit; of a newest turn that does not, its opening and as much of its end as fits. */
const newestThatFit = (units: readonly Unit[], maxTokens: number): readonly Unit[] => {
  const newest = units.at(-1);
  if (!newest) return [];
  let start = units.length;
  let used = 0;
  for (let index = units.length - 1; index >= 0; index--) {
    used += units[index]!.tokens;
    if (used > maxTokens) break;
    if (units[index - 1]?.turn !== units[index]!.turn) start = index;
  }
  if (start < units.length) return units.slice(start);
  const opening = units.findIndex(({ turn }) => turn === newest.turn);
  let room = maxTokens - units[opening]!.tokens;
  let tail = units.length;
  while (tail - 1 > opening && units[tail - 1]!.tokens <= room) room -= units[--tail]!.tokens;
  return [units[opening]!, ...units.slice(tail)];
};

const tooLittle = (maxTokens: number, system: number, opening: number): PerdureError => {
  const needed = system + opening;
  return new PerdureError(
    'INVALID_INPUT',
    `a context of ${maxTokens} tokens cannot hold what must stand in it, which takes ${needed} (instructions, pinned facts and open actions ${system}, the message that opens the turn ${opening}): raise maxTokens, or unpin facts and settle actions`,
    { details: { maxTokens, needed, system, opening } },
  );
};

/**
 * What a model is given: the newest turns that fit, every call with its result. `entries` in the order of the log; `systemWithin` gives the
 * text before them for so many tokens beyond what it must say, and takes no more than those.
 */
export const assembleContext = (
  entries: readonly ContextEntry[],
  maxTokens: number,
  systemWithin: (spare: number) => string = () => '',
): Context => {
  const units = pairCalls(entries);
  const opening = units.find(({ turn }) => turn === units.at(-1)?.turn)?.tokens ?? 0;
  const least = textTokens(systemWithin(0));
  const spare = maxTokens - least - opening;
  if (spare < 0) throw tooLittle(maxTokens, least, opening);
  const system = systemWithin(spare);
  const systemTokens = textTokens(system);
  const kept = newestThatFit(units, maxTokens - systemTokens);
  return {
    system,
    messages: kept.flatMap(({ messages }) => messages),
    from: kept[0]?.seq ?? 0,
    tokens: kept.reduce((sum, { tokens }) => sum + tokens, systemTokens),
  };
};
