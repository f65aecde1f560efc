import { alignSteps } from './align.ts';

/** A run of words that both texts have, or that only one of them has. */
export interface WordPart {
  readonly text: string;
  readonly change: 'same' | 'removed' | 'added';
}

const word = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;
const wordsOf = (text: string): readonly string[] => text.match(word) ?? [];

/** Compares two texts word by word, in steps. The parts without `added` give the first text, without `removed` the second. */
export function* wordSteps(before: string, after: string): Generator<void, readonly WordPart[], void> {
  const pairs = yield* alignSteps(wordsOf(before), wordsOf(after), (each) => each);
  const parts: { text: string; change: WordPart['change'] }[] = [];
  for (const pair of pairs) {
    const change = pair.before === undefined ? 'added' : pair.after === undefined ? 'removed' : 'same';
    const text = (pair.after ?? pair.before)!;
    const last = parts.at(-1);
    if (last?.change === change) last.text += text;
    else parts.push({ text, change });
  }
  return parts;
}
