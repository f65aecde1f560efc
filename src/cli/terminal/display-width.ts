import stringWidth from 'string-width';

const ascii = /^[ -~]*$/;
const segmenter = new Intl.Segmenter();

const graphemes = (text: string): readonly string[] =>
  ascii.test(text) ? [...text] : Array.from(segmenter.segment(text), ({ segment }) => segment);

/** Number of terminal columns that a text without control characters occupies. */
export const displayWidth = (text: string): number => stringWidth(text);

/** Whether the text fits the width. Measures only the beginning of a long text, because measuring emoji is slow. */
const fits = (text: string, width: number): boolean => {
  if (text.length * 2 <= width) return true;
  if (ascii.test(text)) return text.length <= width;
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += displayWidth(segment);
    if (used > width) return false;
  }
  return true;
};

/** The longest prefix that fits, but at least one grapheme. */
const fitting = (text: string, width: number): string => {
  if (ascii.test(text)) return text.slice(0, Math.max(width, 1));
  let used = 0;
  let beginning = '';
  for (const { segment } of segmenter.segment(text)) {
    used += displayWidth(segment);
    if (used > width && beginning !== '') break;
    beginning += segment;
  }
  return beginning;
};

export const truncate = (text: string, width: number): string => {
  if (fits(text, width)) return text;
  return width < 1 ? '' : width === 1 ? '…' : `${fitting(text, width - 1)}…`;
};

/** Shortens a text from its beginning, so that its end is kept. */
export const truncateStart = (text: string, width: number): string => {
  if (fits(text, width)) return text;
  if (width < 1) return '';
  let used = 1;
  let kept = '';
  for (const grapheme of graphemes(text).toReversed()) {
    used += displayWidth(grapheme);
    if (used > width) break;
    kept = grapheme + kept;
  }
  return `…${kept}`;
};

export const padEnd = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - displayWidth(text)));
export const padStart = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - displayWidth(text))) + text;

/** Splits a text into pieces that fit, keeping every character. */
export const breakAt = (text: string, width: number): readonly string[] => {
  const pieces: string[] = [];
  for (let rest = text; rest !== ''; rest = rest.slice(pieces.at(-1)!.length)) pieces.push(fitting(rest, width));
  return pieces;
};

/** The first piece of a word that is too long: up to the last `|` that fits, otherwise as much as fits. */
const fittingChoices = (word: string, width: number): string => {
  const beginning = fitting(word, width);
  return beginning.slice(0, beginning.lastIndexOf('|') + 1) || beginning;
};

/**
 * Breaks a line between words. A word that is too long breaks after a `|`, or else at the width. Only the first line
 * keeps its indentation.
 */
export const wrap = (line: string, width: number): readonly string[] => {
  if (fits(line, width)) return [line];
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const word of line.split(/(?<=\S)(?= )/)) {
    const length = displayWidth(word);
    if (used + length <= width) {
      current += word;
      used += length;
      continue;
    }
    if (current !== '') lines.push(current);
    let rest = current === '' && lines.length === 0 ? word : word.trimStart();
    while (!fits(rest, width)) {
      const piece = fittingChoices(rest, width);
      lines.push(piece);
      rest = rest.slice(piece.length);
    }
    current = rest;
    used = displayWidth(rest);
  }
  return current === '' ? lines : [...lines, current];
};
