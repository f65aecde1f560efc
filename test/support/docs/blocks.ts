/** A fenced block of a Markdown file, with the comment that stands above it. */
export interface Block {
  readonly file: string;
  /** Where its first line of code stands, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** Why it is not executed: `<!-- needs: a key -->`. */
  readonly needs: string | undefined;
  /** `<!-- program -->`: it is whole, and runs, with what is marked `<!-- program goes on -->` below it. */
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

/** Each with those that go on with it. */
export const piecesOf = (blocks: readonly Block[]): readonly (readonly [Block, ...Block[]])[] => {
  const pieces: [Block, ...Block[]][] = [];
  for (const block of blocks) {
    const last = pieces.at(-1);
    if (!block.goesOn) pieces.push([block]);
    else if (last?.[0].isProgram && last[0].file === block.file) last.push(block);
    else throw new Error(`${block.file}:${block.line} goes on with no program`);
  }
  return pieces;
};

/** One text with each block where it stands in its file, so that whatever goes wrong is told with the right line. */
export const inPlace = (blocks: readonly Block[]): string => {
  let text = '';
  for (const { line, code } of blocks) text += '\n'.repeat(line - text.split('\n').length) + code;
  return text;
};
