/** How GitHub renders Markdown, as far as links depend on it, and helpers to write Markdown. */

/** The anchor of a heading, without the number that a repeated heading gets. */
export const anchorOf = (heading: string): string =>
  heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]*>/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');

/** The text without fenced blocks, code spans and comments. */
export const withoutCode = (text: string): string =>
  withoutFences(text)
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, '');

const withoutFences = (text: string): string =>
  text.replace(/^( {0,3})(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ {0,3}\2[`~]*[ \t]*$|$(?![\s\S]))/gm, '');

/** All anchors of a page: those of its headings and those written by hand. */
export const anchorsOf = (text: string): ReadonlySet<string> => {
  const anchors = new Set<string>();
  const page = withoutFences(text);
  for (const [, heading] of page.matchAll(/^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$/gm)) {
    const plain = anchorOf(String(heading));
    let anchor = plain;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${plain}-${count}`;
    anchors.add(anchor);
  }
  for (const [, id] of page.matchAll(/<[^>]+\b(?:id|name)="([^"]+)"/g)) anchors.add(String(id));
  return anchors;
};

export const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);
export const linkTo = (heading: string, text = heading): string => `[${text}](#${anchorOf(heading)})`;
const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');

export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [titles, titles.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`);
