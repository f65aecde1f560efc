import { displayWidth } from '../terminal/display-width.ts';

/** Quotes a text so that a shell reads it as one word. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Matches words as a shell splits them; a comment is treated as one word. */
const words = /# .*$|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|\S)+/g;
const continued = ' \\';

/** Wraps a command for pasting. Each line but the last ends with a backslash. */
export const wrapCommand = (command: string, columns: number, indent = ''): readonly string[] => {
  const width = columns - indent.length;
  if (displayWidth(command) <= width) return [indent + command];
  const lines: string[] = [];
  for (const word of command.match(words) ?? []) {
    const joined = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && displayWidth(joined) + continued.length > width) lines.push(`  ${word}`);
    else lines.splice(-1, 1, joined);
  }
  return lines.map((line, index) => indent + line + (index < lines.length - 1 ? continued : ''));
};
