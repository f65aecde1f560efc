import { displayWidth, wrap } from './display-width.ts';

const leastProse = 20;

/** Wrapped text after a mark, its further lines below the first. The mark is given as it is shown, and its width apart. */
export const hangingIndent = (mark: string, text: string, columns: number, painted = mark): readonly string[] => {
  const indent = displayWidth(mark);
  const below = ' '.repeat(indent);
  return wrap(text, Math.max(leastProse, columns - indent)).map(
    (line, index) => (index === 0 ? painted : below) + line,
  );
};
