import type { EngineName } from '../engines/engine.ts';
import { show } from '../figure.ts';
import type { Mode, SystemName } from './contender.ts';
import { engineTitles, type Findings, stopNote, systemTitles, windowTurns } from './findings.ts';

interface Line {
  readonly system: SystemName;
  readonly isStopped: boolean;
  readonly points: readonly { readonly turn: number; readonly ratio: number }[];
}

const panel = { width: 330, height: 230, left: 60, right: 190, top: 64, gapX: 10, gapY: 62 };
const labelHeight = 15;

const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 14px; }
  .quiet { fill: #59636e; }
  .grid { stroke: #8b949e; stroke-opacity: 0.3; }
  .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
  .stop { fill: none; stroke-width: 1.4; } path.stop { stroke-dasharray: 1.5 3.5; }
  .bare { stroke: #8b949e; } .bare.line { stroke-dasharray: 5 4; } text.bare { stroke: none; fill: #6e7781; }
  .perdure { stroke: #e8590c; } text.perdure { stroke: none; fill: #d9480f; font-weight: 600; }
  .mastra { stroke: #1c7ed6; } text.mastra { stroke: none; fill: #1971c2; }
  .langgraph { stroke: #2f9e44; } text.langgraph { stroke: none; fill: #2b8a3e; }
  .langgraph-delta { stroke: #9c36b5; } text.langgraph-delta { stroke: none; fill: #862e9c; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9198a1; } text.bare { fill: #9198a1; } text.perdure { fill: #ff922b; }
    text.mastra { fill: #74c0fc; } text.langgraph { fill: #69db7c; } text.langgraph-delta { fill: #e599f7; }
  }`;

const powersWithin = (low: number, high: number): readonly number[] => {
  const first = Math.ceil(Math.log10(low));
  return Array.from({ length: Math.max(0, Math.floor(Math.log10(high)) - first + 1) }, (_, at) => 10 ** (first + at));
};

const scale =
  (low: number, high: number, from: number, to: number) =>
  (value: number): number =>
    from + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (to - from);

/** Moves overlapping labels apart, downwards from the top, and back up if they would pass the bottom. */
const spread = (wished: readonly number[], bottom: number): readonly number[] => {
  const places: number[] = [];
  for (const y of wished) places.push(Math.max(y, (places.at(-1) ?? Number.NEGATIVE_INFINITY) + labelHeight));
  const excess = Math.max(0, (places.at(-1) ?? 0) - bottom);
  return places.map((y) => y - excess);
};

const linesOf = (findings: Findings, engine: EngineName, mode: Mode): readonly Line[] =>
  findings.all
    .filter((each) => each.engine === engine && each.mode === mode && each.times.length > 0)
    .map((each) => ({ system: each.system, isStopped: Boolean(each.stopped), points: findings.course(each) }))
    .filter(({ points }) => points.length > 0);

const draw = (
  lines: readonly Line[],
  title: string,
  x0: number,
  y0: number,
  bounds: readonly [number, number, number, number],
): string => {
  const [firstTurn, lastTurn, low, high] = bounds;
  const x = scale(firstTurn, lastTurn, x0, x0 + panel.width);
  const y = scale(low, high, y0 + panel.height, y0);
  const round = (value: number) => value.toFixed(1);
  const across = powersWithin(low, high).map(
    (power) =>
      `<path class="grid" d="M${x0} ${round(y(power))}h${panel.width}"/><text class="quiet" text-anchor="end" x="${x0 - 6}" y="${round(y(power) + 4)}">${power.toLocaleString('en')}×</text>`,
  );
  const down = [firstTurn, 50, 200, 1000]
    .filter((turn) => turn >= firstTurn && turn <= lastTurn)
    .map(
      (turn) =>
        `<path class="grid" d="M${round(x(turn))} ${y0}v${panel.height}"/><text class="quiet" text-anchor="middle" x="${round(x(turn))}" y="${y0 + panel.height + 16}">${turn.toLocaleString('en')}</text>`,
    );
  const ends = lines
    .map(({ system, points }) => ({ system, last: points.at(-1)! }))
    .toSorted((a, b) => b.last.ratio - a.last.ratio);
  const places = spread(
    ends.map(({ last }) => y(last.ratio) + 4),
    y0 + panel.height + 4,
  );
  const labels = ends.map(({ system, last }, at) => {
    const where = last.turn < lastTurn ? ` at ${last.turn}` : '';
    return `<text class="${system}" x="${x0 + panel.width + 8}" y="${round(places[at]!)}">${systemTitles[system].replace('LangGraph, delta channel', 'LangGraph delta')} ${show(last.ratio, '')}×${where}</text>`;
  });
  const paths = lines.map(
    ({ system, points }) =>
      `<path class="line ${system}" d="${points.map(({ turn, ratio }, at) => `${at === 0 ? 'M' : 'L'}${round(x(turn))} ${round(y(ratio))}`).join('')}"/>`,
  );
  const stops = lines
    .filter(({ isStopped }) => isStopped)
    .map(({ system, points }) => {
      const { turn, ratio } = points.at(-1)!;
      const [atX, atY] = [round(x(turn)), y(ratio)];
      return `<path class="stop ${system}" d="M${atX} ${round(atY + 4)}V${y0 + panel.height}"/><circle class="stop ${system}" cx="${atX}" cy="${round(atY)}" r="4"/>`;
    });
  return `<text class="title" x="${x0}" y="${y0 - 12}">${title}</text>\n${[...across, ...down, ...paths, ...stops, ...labels].join('\n')}`;
};

const titles: Record<Mode, string> = { turn: 'a turn kept once', step: 'every step durable' };

/** Plots the time per turn relative to bare SQL on logarithmic axes, one panel for each engine and mode. */
export const plotOf = (findings: Findings): string => {
  const panels = findings.engines.flatMap((engine, column) =>
    (['turn', 'step'] as const).map((mode, row) => ({
      column,
      row,
      engine,
      mode,
      lines: linesOf(findings, engine, mode),
    })),
  );
  const points = panels.flatMap(({ lines }) => lines.flatMap((line) => line.points));
  const ratios = points.map(({ ratio }) => ratio);
  const firstTurn = findings.block;
  const lastTurn = Math.max(2 * firstTurn, ...points.map(({ turn }) => turn));
  const bounds = [firstTurn, lastTurn, Math.min(0.7, ...ratios), Math.max(10, ...ratios) * 1.2] as const;
  const stepX = panel.left + panel.width + panel.right + panel.gapX;
  const width = findings.engines.length * stepX;
  const bottom = panel.top + 2 * (panel.height + panel.gapY);
  const notes = panels.some(({ lines }) => lines.some(({ isStopped }) => isStopped)) ? stopNote : [];
  const foot = notes.map(
    (note, at) => `<text class="quiet" x="${panel.left}" y="${bottom - 22 + 16 * at}">${note}</text>`,
  );
  const drawn = panels.map(({ column, row, engine, mode, lines }) =>
    draw(
      lines,
      `${engineTitles[engine]}, ${titles[mode]}`,
      column * stepX + panel.left,
      panel.top + row * (panel.height + panel.gapY),
      bounds,
    ),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom}" role="img" aria-label="Time per turn as a multiple of bare SQL, by the turns that a session has">
<style>${style}
</style>
<text class="quiet" x="${panel.left}" y="16">Time per turn as a multiple of bare SQL (dashed), by the turns that the session has. Lower is better.</text>
<text class="quiet" x="${panel.left}" y="32">As in the tables: medians of the ${windowTurns} turns up to there.</text>
${[...drawn, ...foot].join('\n')}
</svg>
`;
};
