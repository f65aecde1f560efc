/** A fenced block of a Markdown file, with the comment above it. */
export interface Block {
  readonly file: string;
  /** Line number of its first line of code in the file, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** Why the block is not executed: `<!-- needs: a key -->`. */
  readonly needs: string | undefined;
  /**
   * Set by `<!-- program -->`: the block is a complete program. Blocks below it that are marked `<!-- program goes on
   * -->` are appended to it.
   */
  readonly isProgram: boolean;
  readonly goesOn: boolean;
}

const fence =
  /^(?:<!-- (?:needs: (?<needs>.+)|(?<program>program)|(?<goesOn>program goes on)) -->\n\n?)?```(?<language>\S*)\n(?<code>[\s\S]*?)^```$/gm;

export const blocksOf = (file: string, markdown: string): readonly Block[] =>
  [...markdown.matchAll(fence)].map(({ index, groups, 0: whole }) => {
    const { needs, program, goesOn, language = '', code = '' } = groups ?? {};
    const begin = index + whole.lastIndexOf(code, whole.length - 3);
    const line = markdown.slice(0, begin).split('\n').length;
    return { file, line, language, code, needs, isProgram: program !== undefined, goesOn: goesOn !== undefined };
  });

/** Groups each program with the blocks that continue it. */
export const piecesOf = (blocks: readonly Block[]): readonly (readonly [Block, ...Block[]])[] => {
  const pieces: [Block, ...Block[]][] = [];
  for (const block of blocks) {
    const last = pieces.at(-1);
    if (!block.goesOn) pieces.push([block]);
    else if (last?.[0].isProgram && last[0].file === block.file) last.push(block);
    else throw new Error(`${block.file}:${block.line} is marked \`program goes on\`, but no program precedes it`);
  }
  return pieces;
};

/** Returns one text with each block at its original line, so that errors report the right line of the file. */
export const inPlace = (blocks: readonly Block[]): string => {
  let text = '';
  for (const { line, code } of blocks) text += '\n'.repeat(line - text.split('\n').length) + code;
  return text;
};
