import { displayWidth, wrap } from './display-width.ts';

const leastProse = 20;

/**
 * Wraps text after a mark and indents the further lines. `painted` is the mark with its colours, which are not
 * counted as width.
 */
export const hangingIndent = (mark: string, text: string, columns: number, painted = mark): readonly string[] => {
  const indent = displayWidth(mark);
  const below = ' '.repeat(indent);
  return wrap(text, Math.max(leastProse, columns - indent)).map(
    (line, index) => (index === 0 ? painted : below) + line,
  );
};
