/** One file of docs/reference, generated from the code. */
export interface Page {
  readonly path: string;
  render(): string;
}

export const generated = '<!-- Generated from the code by `npm run reference`: change the code, not this file. -->';

/** Joins blocks of lines with an empty line between them. */
export const markdownPage = (title: string, ...blocks: readonly (string | readonly string[])[]): string =>
  [generated, `# ${title}`, ...blocks]
    .map((block) => (typeof block === 'string' ? block : block.join('\n')))
    .filter((block) => block !== '')
    .join('\n\n')
    .concat('\n');
