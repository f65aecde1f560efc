/** A part of a line in one style. */
export interface Run {
  readonly text: string;
  readonly column: number;
  readonly bold: boolean;
  readonly dim: boolean;
  /** The SGR number of the colour: 31 is red. */
  readonly colour: number | undefined;
}

type Look = Pick<Run, 'bold' | 'dim' | 'colour'>;
const plain: Look = { bold: false, dim: false, colour: undefined };

const changed = (look: Look, code: number): Look => {
  if (code === 0) return plain;
  if (code === 1) return { ...look, bold: true };
  if (code === 2) return { ...look, dim: true };
  if (code === 22) return { ...look, bold: false, dim: false };
  if (code === 39) return { ...look, colour: undefined };
  if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) return { ...look, colour: code };
  throw new Error(`unsupported SGR style ${code}`);
};

const runsOf = (cells: readonly (readonly [text: string, look: Look])[]): readonly Run[] => {
  const runs: Run[] = [];
  for (const [column, [text, look]] of cells.entries()) {
    const last = runs.at(-1);
    const isSame = last && last.bold === look.bold && last.dim === look.dim && last.colour === look.colour;
    if (isSame) runs[runs.length - 1] = { ...last, text: last.text + text };
    else runs.push({ text, column, ...look });
  }
  return runs.filter(({ text }) => text.trim() !== '');
};

/** The final screen of a terminal, line by line, without overwritten text. */
export const screenOf = (output: string): readonly (readonly Run[])[] => {
  let look = plain;
  return output
    .trimEnd()
    .split(/\r*\n/)
    .map((line) => {
      const cells: [string, Look][] = [];
      let column = 0;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal output consists of control characters
      for (const [piece, codes] of line.matchAll(/\x1b\[([\d;]*)m|\x1b\[K|./gsu)) {
        if (codes !== undefined) for (const code of codes.split(';')) look = changed(look, Number(code));
        else if (piece === '\x1b[K') cells.length = column;
        else if (piece === '\r') column = 0;
        else cells[column++] = [piece, look];
      }
      return runsOf(cells);
    });
};
