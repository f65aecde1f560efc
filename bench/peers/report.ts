import type { EngineName } from '../engines/engine.ts';
import { type Result, show, showTarget } from '../figure.ts';
import type { Mode } from './contender.ts';
import { engineTitles, type Findings, stopNote, systemTitles, targetsOf, timeAt, windowTurns } from './findings.ts';
import type { Measured } from './measure.ts';
import type { Resumed } from './resume.ts';

export interface Surroundings {
  readonly machine: string;
  readonly versions: readonly string[];
  readonly date: string;
  readonly minutes: number;
  readonly plot: string;
}

const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const count = (value: number): string => value.toLocaleString('en');
const times = (ratio: number): string => (Number.isFinite(ratio) ? `**${show(ratio, '')}×**` : '-');
const inBrackets = (text: string): string => (text === '-' ? '' : ` (${text})`);
const bytes = (value: number | undefined): string =>
  value === undefined || !Number.isFinite(value)
    ? '-'
    : value >= 1e6
      ? `${show(value / 1e6, '')} MB`
      : `${show(value / 1e3, '')} kB`;

const targets = (results: readonly Result[]): string =>
  table(
    ['on', 'what', 'ratio', 'target', '', 'from'],
    results.map(({ engine, name, value, unit, target, ok, detail }) => [
      engine,
      name,
      times(value),
      target ? showTarget(target, unit) : '',
      ok === undefined ? '' : ok ? 'met' : '**missed**',
      detail ?? '',
    ]),
  );

const ways: Record<Mode, Partial<Record<Measured['system'], string>>> = {
  turn: {
    bare: 'one transaction of 8 rows',
    perdure: '`session.append` of 8 messages at once',
    mastra:
      '`memory.saveMessages` of the question and of the answer with its calls, as its agents do at the end of a turn',
    langgraph: '`graph.invoke` with `durability: "exit"`: one checkpoint a turn',
  },
  step: {
    bare: '8 transactions of one row',
    perdure: '`session.append` of each message by itself',
    mastra:
      '`memory.saveMessages` of the question, then of the growing answer after each step, as with `savePerStep`: 5 saves; a call is kept with its result',
    langgraph: '`graph.invoke` with `durability: "sync"`: a checkpoint after each step',
    'langgraph-delta': 'the same with `MessagesDeltaValue` (beta), which keeps what each step added',
  },
};

const growthOf = (findings: Findings, measured: Measured): string => {
  const reached = findings.marks.filter((mark) => mark <= measured.times.length);
  const [first, last] = [reached[0], reached.at(-1)];
  if (first === undefined || last === undefined || first === last) return '-';
  return `${show(timeAt(measured, last) / timeAt(measured, first), '')}× from ${first} to ${count(last)}`;
};

const stopOf = (findings: Findings, measured: Measured): string => {
  const turns = measured.times.length;
  if (!measured.stopped) return '';
  return turns === 0
    ? measured.stopped
    : `at ${count(turns)} turns, ${times(findings.ratioAt(measured, turns))}: ${measured.stopped}`;
};

const turnTable = (findings: Findings, engine: EngineName, mode: Mode): string => {
  const rows = findings.all.filter((each) => each.engine === engine && each.mode === mode);
  return table(
    ['', ...findings.marks.map((mark) => `at ${count(mark)} turns`), 'growth', 'bytes a turn', 'durability', 'stopped'],
    rows.map((measured) => [
      systemTitles[measured.system],
      ...findings.marks.map(
        (mark) => `${times(findings.ratioAt(measured, mark))}${inBrackets(show(timeAt(measured, mark), 'ms'))}`,
      ),
      growthOf(findings, measured),
      bytes(measured.bytesPerTurn),
      measured.durability ?? '-',
      stopOf(findings, measured),
    ]),
  );
};

const rowsOf = (findings: Findings, engine: EngineName) =>
  findings.all.filter((each) => each.engine === engine && (each.fork || each.all));

const againstOurs = (theirs: number | undefined, ours: number | undefined): string =>
  theirs === undefined ? '-' : `${times(theirs / (ours ?? Number.NaN))} (${show(theirs, 'ms')})`;

/** The measured time to read the next context, or everything if the system has no smaller context. */
const nextOf = ({ context, all }: Measured): Resumed | undefined => context ?? all;

const openedTable = (findings: Findings, engine: EngineName): string => {
  const ours = findings.find(engine, 'perdure', 'turn');
  return table(
    [
      '',
      'turns',
      'messages',
      'from the start of the process',
      'the store opened anew',
      'on an open store',
      'the same, all messages',
    ],
    rowsOf(findings, engine).map((each) => {
      const [theirNext, ourNext] = [nextOf(each), ours?.context];
      return [
        systemTitles[each.system],
        count(each.times.length),
        theirNext ? count(theirNext.messages) : '-',
        againstOurs(theirNext?.processMs, ourNext?.processMs),
        againstOurs(theirNext?.storeMs, ourNext?.storeMs),
        againstOurs(theirNext?.sessionMs, ourNext?.sessionMs),
        againstOurs(each.all?.sessionMs, ours?.all?.sessionMs),
      ];
    }),
  );
};

const forkTable = (findings: Findings, engine: EngineName): string => {
  const ours = findings.find(engine, 'perdure', 'turn');
  return table(
    ['', 'turns', 'fork', 'bytes that it adds'],
    rowsOf(findings, engine).map((each) => [
      systemTitles[each.system],
      count(each.times.length),
      againstOurs(each.fork?.ms, ours?.fork?.ms),
      bytes(each.fork?.bytes),
    ]),
  );
};

const modeTitles: Record<Mode, string> = {
  turn: 'A turn kept once, when it is over',
  step: 'Every step durable before the next begins',
};

const wayList = (mode: Mode): string =>
  Object.entries(ways[mode])
    .map(([system, way]) => `- ${systemTitles[system as Measured['system']]}: ${way}.`)
    .join('\n');

export const reportOf = (findings: Findings, { machine, versions, date, minutes, plot }: Surroundings): string => {
  const results = targetsOf(findings);
  const withTarget = results.filter(({ ok }) => ok !== undefined);
  const modes = ['turn', 'step'] as const;
  return `# Perdure beside what people use today

Made by \`npm run bench:peers\` on ${date}, in ${show(minutes, '')} minutes. How to read it: [bench/README.md](../README.md#beside-others). Ratios come first: times depend on the machine and on who else uses it.

${machine}.
${versions.join(', ')}.

![Time per turn against bare SQL, from the first turn to the last](${plot})
${findings.all.some(({ stopped, times }) => stopped && times.length > 0) ? `\n${stopNote.join(' ')}\n` : ''}
## What we set out to reach
${withTarget.filter(({ ok }) => ok).length} of ${withTarget.length} targets met.

${targets(results)}

${modes
  .map(
    (mode) => `## ${modeTitles[mode]}
Time per turn: the median of the ${windowTurns} turns up to there, as a multiple of bare SQL at the same turns. 8 events, 15.2 kB.

${findings.engines.map((engine) => `### ${engineTitles[engine]}\n${turnTable(findings, engine, mode)}`).join('\n\n')}

${wayList(mode)}
`,
  )
  .join('\n')}
## A session opened in a new process
To what a model is given next, as a multiple of Perdure's. Mastra and bare SQL are asked for as many turns as our context holds; LangGraph has but all of its state, and fewer turns where it was stopped.
Files are in the memory of the system for all.

${findings.engines.map((engine) => `### ${engineTitles[engine]}\n${openedTable(findings, engine)}`).join('\n\n')}

## A session forked at its end
Of Mastra's two ways the shorter, \`memory.copyThread\`. LangGraph's is \`graph.updateState\` on a checkpoint: a branch in the same thread. Bare SQL is one row that names its parent.

${findings.engines.map((engine) => `### ${engineTitles[engine]}\n${forkTable(findings, engine)}`).join('\n\n')}
`;
};
