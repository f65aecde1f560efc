import { PerdureError } from '../../../schema/error.ts';
import type { Message } from '../../../schema/message.ts';
import { type ContextEntry, pairCalls, textTokens } from './context-units.ts';
import { windowOf } from './context-window.ts';
import { markUntrusted } from './mark-untrusted.ts';
import { type EvictedContent, evictedContent } from './recall-key.ts';

export interface Context {
  /** The instructions, the digest of the state at the start of the turn, and the summary of compacted turns. */
  readonly system: string;
  readonly messages: readonly Message[];
  /** The seq of the first message, or 0 if there are no messages. */
  readonly from: number;
  readonly tokens: number;
  /** The content that the context leaves out or shows in part. `recall` takes the key or the name of each. */
  readonly evicted: readonly EvictedContent[];
}

export const defaultContextTokens = 100_000;

const tooLittle = (maxTokens: number, system: number, opening: number): PerdureError => {
  const needed = system + opening;
  return new PerdureError(
    'INVALID_INPUT',
    `a context of ${maxTokens} tokens is too small, it needs at least ${needed} (instructions, pinned facts and open actions ${system}, the message that opens the turn ${opening}): raise maxTokens, or unpin facts and settle actions`,
    { details: { maxTokens, needed, system, opening } },
  );
};

/** The text before the messages. */
export interface SystemSource {
  /**
   * Returns the text, which may exceed its mandatory part by at most `spare` tokens. Reports the key of everything that
   * the text leaves out.
   */
  systemWithin(spare: number, leaves?: (key: string) => void): string;
  /** The first turn that no summary covers, if the entries do not reach back to it. */
  readonly oldest?: number | undefined;
}

/**
 * Assembles the context of a model: the newest turns that fit, with a result for every call. `entries` are in log
 * order.
 */
export const assembleContext = (
  entries: readonly ContextEntry[],
  maxTokens: number,
  { systemWithin, oldest }: SystemSource = { systemWithin: () => '' },
): Context => {
  const units = pairCalls(entries);
  const opening = units.find(({ turn }) => turn === units.at(-1)?.turn)?.tokens ?? 0;
  const least = textTokens(systemWithin(0));
  const spare = maxTokens - least - opening;
  if (spare < 0) throw tooLittle(maxTokens, least, opening);
  const keys = new Set<string>();
  const system = systemWithin(spare, (key) => keys.add(key));
  const { kept, notes, leftOut } = windowOf(units, maxTokens - textTokens(system), oldest);
  for (const key of [...leftOut, ...kept.flatMap((unit) => unit.leftOut)]) keys.add(key);
  const said = [system, ...notes].filter(Boolean).join('\n\n');
  return {
    system: said,
    messages: kept.flatMap(({ messages }) => messages.map(markUntrusted)),
    from: kept[0]?.seq ?? 0,
    tokens: kept.reduce((sum, { tokens }) => sum + tokens, textTokens(said)),
    evicted: [...keys].map(evictedContent),
  };
};
