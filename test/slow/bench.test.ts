import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { caseNames } from '../../bench/cases/index.ts';
import { show } from '../../bench/figure.ts';
import type { Mode, SystemName } from '../../bench/peers/contender.ts';
import { Findings, stopNote, targetsOf } from '../../bench/peers/findings.ts';
import { plotOf } from '../../bench/peers/plot.ts';
import { reportOf } from '../../bench/peers/report.ts';
import { importSystem } from '../../bench/peers/systems/index.ts';
import { oneTurn, realContent } from '../../bench/workload.ts';

const run = promisify(execFile);
const bench = (...args: string[]) => run(process.execPath, ['bench/main.ts', ...args]);

test('the bench measures every case and prints figures for programs', async () => {
  const { stdout } = await bench('--quick', '--engine', 'sqlite', '--json');
  const { results } = JSON.parse(stdout);
  const measured = new Set(results.map(({ case: name }: { case: string }) => name));
  expect([...measured].toSorted()).toEqual(caseNames.filter((name) => name !== 'cluster').toSorted());
  const appends = results.filter(({ case: name }: { case: string }) => name === 'append');
  expect(appends.filter(({ target }: { target?: object }) => target)).toHaveLength(3);
  for (const result of appends) {
    expect(result).toMatchObject({ engine: 'sqlite', unit: '%' });
    expect(result.name).toContain('share of the bare loop');
    expect(result.value).toBeGreaterThan(0);
    if (result.target) expect(result).toMatchObject({ target: { atLeast: 60 }, ok: result.value >= 60 });
  }
}, 900_000);

test('the bench lists the available cases when asked for an unknown one', async () => {
  await expect(bench('--only', 'nothing')).rejects.toThrow(/"nothing" is not a case; there are: append, loop, wake/);
});

const libraryUrl = new URL('../../src/index.ts', import.meta.url).href;

test.for([
  ['bare', 'turn'],
  ['bare', 'step'],
  ['perdure', 'turn'],
  ['perdure', 'step'],
] as const)('in the peer benchmark, %s writes two turns by %s, forks, and reads them back', async ([name, mode]) => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-peers-'));
  const setting = { engine: 'sqlite', mode, address: `sqlite:${join(folder, 'perdure.db')}`, libraryUrl } as const;
  const system = await importSystem[name]('sqlite', libraryUrl);
  const contender = await system.write(setting);
  const content = realContent();
  for (let turn = 0; turn < 2; turn++) await contender.prepare(oneTurn(content))();
  await contender.fork();
  expect(await contender.durability()).toBe('WAL, synchronous=FULL');
  await contender.close();
  const reader = await system.read(setting);
  for (const what of ['context', 'all'] as const) {
    expect(await reader.read({ session: contender.session, what, contextTurns: 2 })).toBe(16);
  }
  await reader.close();
  await rm(folder, { recursive: true });
});

test('in the peer benchmark, the last points of the plot are the ratios in the tables, and no label is cut off', () => {
  const measured = (system: SystemName, ms: (turn: number) => number) => ({
    system,
    mode: 'turn' as const,
    engine: 'sqlite' as const,
    times: Array.from({ length: 200 }, (_, turn) => ms(turn)),
  });
  const slowing = measured('langgraph', (turn) => 10 * turn);
  const findings = new Findings([measured('bare', () => 1), slowing], [50, 200], 10);
  const plot = plotOf(findings);
  const atEnd = show(findings.ratioAt(slowing, 200), '');
  expect(plot).toContain(`>LangGraph ${atEnd}×<`);
  expect(plot).toContain('medians of the 40 turns up to there');
  const leftLabels = [...plot.matchAll(/text-anchor="end" x="(\d+)" y="[\d.]+">([^<]+)</g)];
  expect(leftLabels.map(([, , label]) => label)).toContain('1,000×');
  const pixelsOfLetter = 8;
  for (const [, x, label] of leftLabels) expect(Number(x)).toBeGreaterThanOrEqual(pixelsOfLetter * label!.length);
});

test('in the peer benchmark, a ratio is that of the two figures beside it', () => {
  const measured = (system: SystemName, mode: Mode, ms: (block: number) => number) => ({
    system,
    mode,
    engine: 'sqlite' as const,
    times: Array.from({ length: 100 }, (_, turn) => ms(Math.floor(turn / 10))),
  });
  const findings = new Findings(
    (['turn', 'step'] as const).flatMap((mode) => [
      measured('bare', mode, (block) => [1, 1, 1, 4, 4][block % 5]!),
      measured('perdure', mode, (block) => [3, 3, 8, 8, 8][block % 5]!),
    ]),
    [50, 100],
    10,
  );
  const found = targetsOf(findings);
  expect(found).toHaveLength(2);
  for (const { value, detail } of found) {
    const [, ours, bare] = /^([\d.]+) ms against ([\d.]+) ms/.exec(detail!)!;
    expect(show(value, 'x')).toBe(show(Number(ours) / Number(bare), 'x'));
  }
});

test('in the peer benchmark, the report says which targets were met, and where a system was stopped', () => {
  const measured = (system: SystemName, mode: Mode, turns: number, ms: number) => ({
    system,
    mode,
    engine: 'sqlite' as const,
    times: Array.from({ length: turns }, () => ms),
  });
  const resumed = (ms: number) => ({ processMs: 2 * ms, storeMs: ms, sessionMs: ms / 2, messages: 208 });
  const findings = new Findings(
    [
      measured('bare', 'turn', 100, 1),
      { ...measured('perdure', 'turn', 100, 1.4), context: resumed(10), all: resumed(50), fork: { ms: 1, bytes: 0 } },
      { ...measured('mastra', 'turn', 100, 2), context: resumed(20), all: resumed(300), fork: { ms: 30, bytes: 1e6 } },
      measured('bare', 'step', 100, 2),
      measured('perdure', 'step', 100, 5),
      { ...measured('langgraph', 'step', 60, 80), stopped: '50 s were used up' },
    ],
    [50, 100],
    10,
  );
  const verdicts = targetsOf(findings).filter(({ target }) => target);
  expect(verdicts.map(({ value, ok }) => [value, ok])).toEqual([
    [1.4, true],
    [2.5, false],
    [30, true],
    [30, true],
    [30, false],
  ]);
  const surroundings = { machine: '2 cores', versions: ['Node 24'], date: '2026-01-01', minutes: 7, plot: 'peers.svg' };
  const report = reportOf(findings, surroundings);
  expect(report).toContain('3 of 5 targets met');
  expect(report).toMatch(/LangGraph \| \*\*40×\*\* \(80 ms\) \| - \|.*at 60 turns, \*\*40×\*\*: 50 s were used up/);
  const plot = plotOf(findings);
  expect(plot).toMatch(/LangGraph 40× at 60</);
  expect(plot.match(/<circle class="stop langgraph"/g)).toHaveLength(1);
  for (const note of stopNote) for (const text of [report, plot]) expect(text).toContain(note);
});
