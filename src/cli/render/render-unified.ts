import { breakAt, displayWidth } from '../terminal/display-width.ts';
import { printableLines } from '../terminal/printable.ts';
import type { Style, Terminal } from '../terminal/terminal.ts';

const lineStyles: readonly (readonly [RegExp, Style])[] = [
  [/^(diff|index|---|\+\+\+|rename|similarity|old mode|new mode|new file|deleted file)/, 'bold'],
  [/^@@/, 'cyan'],
  [/^\+/, 'green'],
  [/^-/, 'red'],
];

const continued = '↳ ';

/**
 * Splits a line that is too long. Continuations are marked, so that none can be mistaken for another line of the
 * patch.
 */
const piecesOf = (line: string, columns: number): readonly string[] =>
  displayWidth(line) <= columns
    ? [line]
    : breakAt(line, columns - displayWidth(continued)).map((piece, index) => (index > 0 ? continued : '') + piece);

/** Shows a diff in git's format, each line within the width. */
export const renderUnified = (unified: string, out: Terminal): readonly string[] =>
  printableLines(unified.replace(/\n$/, '')).flatMap((line) => {
    const style = lineStyles.find(([form]) => form.test(line))?.[1];
    return piecesOf(line, out.columns).map((piece) => (style ? out.style(style, piece) : piece));
  });
