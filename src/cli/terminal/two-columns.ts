import { wrap } from './display-width.ts';

const leastBeside = 20;

/**
 * Formats names on the left with their descriptions on the right, or below them on a narrow terminal, wrapped to the
 * width.
 */
export const twoColumns = (rows: readonly (readonly [string, string])[], width: number): readonly string[] => {
  const left = Math.max(...rows.map(([name]) => name.length)) + 4;
  if (width - left < leastBeside)
    return rows.flatMap(([name, about]) => [`  ${name}`, ...wrap(about, width - 4).map((line) => `    ${line}`)]);
  return rows.flatMap(([name, about]) =>
    wrap(about, width - left).map((line, index) => (index === 0 ? `  ${name}`.padEnd(left) : ' '.repeat(left)) + line),
  );
};
