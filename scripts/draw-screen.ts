import type { Run } from './terminal-screen.ts';

const columns = 80;
const cell = { width: 8.4, height: 18, font: 14 };
const margin = 20;
const paper = '#0d1117';
const ink = '#d1d7e0';
const colours: Readonly<Record<number, string>> = {
  31: '#ff7b72',
  32: '#56d364',
  33: '#e3b341',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#56d4dd',
  90: '#8b949e',
};

/** Uses non-breaking spaces, because SVG viewers collapse several spaces into one. */
const spaced = (text: string): string => text.replace(/ {2,}/g, (gap) => '\u00a0'.repeat(gap.length));
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const size = (number: number): string => String(Number(number.toFixed(1)));

/** Stretches each run to the width of its columns, whatever font the viewer has. */
const drawRun = ({ text, column, bold, dim, colour }: Run, y: number): string => {
  const blank = text.length - text.trimStart().length;
  const shown = text.trim();
  const x = margin + (column + blank) * cell.width;
  const look = [
    ...(bold ? ['font-weight="bold"'] : []),
    ...(dim ? ['opacity="0.65"'] : []),
    ...(colour === undefined ? [] : [`fill="${colours[colour] ?? ink}"`]),
  ];
  const place = [`x="${size(x)}"`, `y="${size(y)}"`, `textLength="${size([...shown].length * cell.width)}"`];
  return `<text ${[...place, ...look].join(' ')}>${escaped(spaced(shown))}</text>`;
};

/** Draws a terminal as plain SVG with its own background, without scripts or embedded fonts. */
export const drawScreen = (lines: readonly (readonly Run[])[], title: string): string => {
  const width = Math.ceil(2 * margin + columns * cell.width);
  const height = 2 * margin + lines.length * cell.height;
  const rows = lines.flatMap((runs, row) => runs.map((run) => drawRun(run, margin + (row + 0.75) * cell.height)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${paper}"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${cell.font}" fill="${ink}">`,
    ...rows,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
};
