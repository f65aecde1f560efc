const ascii = /^[ -~]*$/;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{17000}-\u{18aff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const mark = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const segmenter = new Intl.Segmenter();

const graphemes = (text: string): readonly string[] =>
  ascii.test(text) ? [...text] : Array.from(segmenter.segment(text), ({ segment }) => segment);

const graphemeWidth = (grapheme: string): number => {
  if (ascii.test(grapheme)) return grapheme.length;
  if (wide.test(grapheme)) return 2;
  return mark.test(grapheme) ? 0 : 1;
};

/** Terminal columns that a text without control characters takes. */
export const displayWidth = (text: string): number =>
  ascii.test(text) ? text.length : graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0);

/** The longest beginning that fits, but at least one grapheme. */
const fitting = (text: string, width: number): string => {
  if (ascii.test(text)) return text.slice(0, Math.max(width, 1));
  let used = 0;
  let fits = '';
  for (const { segment } of segmenter.segment(text)) {
    used += graphemeWidth(segment);
    if (used > width && fits !== '') break;
    fits += segment;
  }
  return fits;
};

export const truncate = (text: string, width: number): string => {
  if (text.length * 2 <= width || displayWidth(text) <= width) return text;
  return width < 1 ? '' : width === 1 ? '…' : `${fitting(text, width - 1)}…`;
};

/** Truncates at the beginning instead of the end. */
export const truncateStart = (text: string, width: number): string => {
  if (text.length * 2 <= width || displayWidth(text) <= width) return text;
  if (width < 1) return '';
  let used = 1;
  let kept = '';
  for (const grapheme of graphemes(text).toReversed()) {
    used += graphemeWidth(grapheme);
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

/** The first piece of a word that is too long: up to the last | that fits, otherwise as much as fits. */
const fittingChoices = (word: string, width: number): string => {
  const fits = fitting(word, width);
  return fits.slice(0, fits.lastIndexOf('|') + 1) || fits;
};

/**
 * Breaks a line between words. A word that is too long breaks after a |, or where it must. Only the first line keeps
 * its indentation.
 */
export const wrap = (line: string, width: number): readonly string[] => {
  if (line.length * 2 <= width || displayWidth(line) <= width) return [line];
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
    while (displayWidth(rest) > width) {
      const piece = fittingChoices(rest, width);
      lines.push(piece);
      rest = rest.slice(piece.length);
    }
    current = rest;
    used = displayWidth(rest);
  }
  return current === '' ? lines : [...lines, current];
};
