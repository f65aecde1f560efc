import type { EngineName } from '../engines/engine.ts';
import { type Figure, type Result, resultOf, show } from '../figure.ts';
import { median } from '../statistics.ts';
import { eventsPerTurn } from '../workload.ts';
import type { Mode, SystemName } from './contender.ts';
import type { Measured } from './measure.ts';

export const systemTitles: Record<SystemName, string> = {
  bare: 'bare SQL',
  perdure: 'Perdure',
  mastra: 'Mastra',
  langgraph: 'LangGraph',
  'langgraph-delta': 'LangGraph, delta channel',
};
export const engineTitles: Record<EngineName, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

export const windowTurns = 40;

/** Explains why all ratios jump at the same turn; each entry is a line under the plot. */
export const stopNote = [
  'A ring on a dotted line: this system was stopped there, its time or room used up.',
  'Until then its writes keep the disk of SQLite busy for all systems, which pulls every ratio towards 1; later ratios say more.',
] as const;

/** The median time of the turns up to this one. */
export const timeAt = ({ times }: Measured, turn: number): number =>
  times.length < turn ? Number.NaN : median(times.slice(Math.max(0, turn - windowTurns), turn));

export class Findings {
  readonly all: readonly Measured[];
  readonly marks: readonly number[];
  readonly block: number;

  constructor(all: readonly Measured[], marks: readonly number[], block: number) {
    this.all = all;
    this.marks = marks;
    this.block = block;
  }

  get engines(): readonly EngineName[] {
    return [...new Set(this.all.map(({ engine }) => engine))];
  }

  find(engine: EngineName, system: SystemName, mode: Mode): Measured | undefined {
    return this.all.find((each) => each.engine === engine && each.system === system && each.mode === mode);
  }

  /** The ratio to the bare loop of the same mode, at the same turns. */
  ratioAt(measured: Measured, turn: number): number {
    const bare = this.find(measured.engine, 'bare', measured.mode);
    return bare ? timeAt(measured, turn) / timeAt(bare, turn) : Number.NaN;
  }

  /** The ratio after every block and after the last turn, computed as in the tables. */
  course(measured: Measured): readonly { readonly turn: number; readonly ratio: number }[] {
    const turns = measured.times.length;
    return Array.from({ length: Math.ceil(turns / this.block) }, (_, at) => Math.min(turns, (at + 1) * this.block))
      .map((turn) => ({ turn, ratio: this.ratioAt(measured, turn) }))
      .filter(({ ratio }) => Number.isFinite(ratio));
  }
}

const turnFigures = (findings: Findings): readonly Result[] =>
  (
    [
      ['turn', 'a turn in one durable transaction, against bare SQLite', 1.5],
      ['step', 'full journal, against the bare loop that commits each event', 1.6],
    ] as const
  ).flatMap(([mode, name, atMost]) => {
    const [ours, bare] = [findings.find('sqlite', 'perdure', mode), findings.find('sqlite', 'bare', mode)];
    if (!ours || !bare) return [];
    const turns = ours.times.length;
    // Systems that write much were stopped before these turns (see `stopNote`). Both sides alternated, so noise
    // affects both medians.
    const half = ({ times }: Measured) => median(times.slice(turns / 2, turns));
    const detail = `${show(half(ours), 'ms')} against ${show(half(bare), 'ms')}, medians of the second half of the session`;
    return [
      resultOf('turn', 'SQLite', { name, value: half(ours) / half(bare), unit: 'x', target: { atMost }, detail }),
    ];
  });

/** How many times as long the other system took as ours. */
const faster = (
  name: string,
  ours: number | undefined,
  theirs: number | undefined,
  more: Pick<Figure, 'target'> = {},
): readonly Figure[] => {
  if (ours === undefined || theirs === undefined) return [];
  const detail = `${show(theirs, 'ms')} against ${show(ours, 'ms')}`;
  return [{ name, value: theirs / ours, unit: 'x', detail, ...more }];
};

const mastraFigures = (findings: Findings, engine: EngineName): readonly Result[] => {
  const [ours, theirs] = [findings.find(engine, 'perdure', 'turn'), findings.find(engine, 'mastra', 'turn')];
  if (!ours || !theirs) return [];
  const turns = ours.times.length.toLocaleString('en');
  const count = ours.context && Math.round(ours.context.messages / eventsPerTurn);
  const name = `a session of ${turns} turns opened to its next context, faster than Mastra's load of it all`;
  const [next, whole, part] = [ours.context, theirs.all, theirs.context];
  const resumes = [
    ...faster(`${name}; the store opened anew`, next?.storeMs, whole?.storeMs, { target: { atLeast: 20 } }),
    ...faster('the same from the start of the process, modules and all', next?.processMs, whole?.processMs),
    ...faster('the same on a store that is open', next?.sessionMs, whole?.sessionMs, { target: { atLeast: 20 } }),
    ...faster(`the same, when Mastra loads the newest ${count} turns alone`, next?.sessionMs, part?.sessionMs),
    ...faster('on a store that is open, when both read everything', ours.all?.sessionMs, whole?.sessionMs),
  ];
  const forks = faster(`fork at ${turns} turns, faster than Mastra's`, ours.fork?.ms, theirs.fork?.ms, {
    target: { atLeast: 50 },
  });
  const title = engineTitles[engine];
  return [
    ...resumes.map((figure) => resultOf('resume', title, figure)),
    ...forks.map((figure) => resultOf('fork', title, figure)),
  ];
};

/** Our targets, and the figures that explain them. */
export const targetsOf = (findings: Findings): readonly Result[] => [
  ...turnFigures(findings),
  ...findings.engines.flatMap((engine) => mastraFigures(findings, engine)),
];
