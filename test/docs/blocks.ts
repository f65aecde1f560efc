/** A fenced block of a Markdown file, with the comment that stands above it. */
export interface Block {
  readonly file: string;
  /** Where its first line of code stands, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** Why it is not executed: `<!-- needs: a key -->`. */
  readonly needs: string | undefined;
  /** `<!-- program -->`: it is whole, and runs. */
  readonly isProgram: boolean;
}

const fence =
  /^(?:<!-- (?:needs: (?<needs>.+)|(?<program>program)) -->\n\n?)?```(?<language>\S*)\n(?<code>[\s\S]*?)^```$/gm;

export const blocksOf = (file: string, markdown: string): readonly Block[] =>
  [...markdown.matchAll(fence)].map(({ index, groups, 0: whole }) => {
    const { needs, program, language = '', code = '' } = groups ?? {};
    const begin = index + whole.lastIndexOf(code, whole.length - 3);
    const line = markdown.slice(0, begin).split('\n').length;
    return { file, line, language, code, needs, isProgram: program !== undefined };
  });

/** One text with each block where it stands in its file, so that whatever goes wrong is told with the right line. */
export const inPlace = (blocks: readonly Block[]): string => {
  let text = '';
  for (const { line, code } of blocks) text += '\n'.repeat(line - text.split('\n').length) + code;
  return text;
};
