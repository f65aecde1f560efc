import { availableParallelism } from 'node:os';
import type { Bench } from './bench-case.ts';
import { engineCases } from './cases/index.ts';
import type { Engine, EngineName } from './engines/engine.ts';
import { postgresEngine } from './engines/postgres.ts';
import { sqliteEngine } from './engines/sqlite.ts';
import { estimateError } from './estimate-error.ts';
import { type Figure, type Result, resultOf } from './figure.ts';
import { filesCost } from './files-cost.ts';
import { Histories } from './histories.ts';
import { importCost } from './import-cost.ts';
import { leaveMemoryFileSystems } from './leave-memory-file-systems.ts';
import { buildLibrary, type Library } from './library.ts';
import { parseOptions } from './options.ts';
import { tableOf } from './table.ts';

const readOptions = () => {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
};

const options = readOptions();
const progress = (what: string): void =>
  console.error(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${what}`);

const engines: Record<EngineName, () => Promise<Engine>> = { sqlite: sqliteEngine, postgres: postgresEngine };

const results: Result[] = [];
const failed: string[] = [];

/** Runs a case. If it fails, the figures of the other cases are still reported. */
const measure = async (name: string, engine: string, figures: () => Promise<readonly Figure[]>): Promise<void> => {
  try {
    for (const figure of await figures()) results.push(resultOf(name, engine, figure));
  } catch (error) {
    failed.push([engine, name].filter(Boolean).join(': '));
    console.error(error);
  }
};

const runEngine = async (library: Library, name: EngineName): Promise<void> => {
  const cases = Object.entries(engineCases).filter(([each]) => (options.cases as readonly string[]).includes(each));
  if (cases.length === 0) return;
  const report = (what: string) => progress(`${name}: ${what}`);
  report('start');
  const engine = await engines[name]();
  const histories = new Histories(library, engine, report);
  const { quick } = options;
  const turns = quick ? [100, 1000] : [100, 1000, 10_000];
  const bench: Bench = { library, engine, histories, quick, turns, progress: report };
  try {
    for (const [each, figures] of cases) await measure(each, name, () => figures(bench));
    await histories.remove();
  } finally {
    await engine.close();
  }
};

leaveMemoryFileSystems();
progress('building the library');
const library = await buildLibrary();
try {
  for (const name of options.engines) await runEngine(library, name);
  if (options.cases.includes('files')) {
    progress('files');
    await measure('files', '', () => filesCost(options.quick));
  }
  if (options.cases.includes('import')) {
    progress('import');
    await measure('import', '', () => importCost(library.url, options.quick));
  }
  if (options.cases.includes('estimate')) {
    progress('estimate');
    await measure('estimate', '', () => estimateError(library));
  }
} finally {
  await library.remove();
}

if (options.json) {
  const seconds = Math.round(performance.now() / 1000);
  console.log(JSON.stringify({ node: process.version, cores: availableParallelism(), seconds, results }, undefined, 2));
} else {
  const withTarget = results.filter(({ ok }) => ok !== undefined);
  const met = withTarget.filter(({ ok }) => ok);
  console.log(tableOf(results));
  console.log(
    `\n${met.length} of ${withTarget.length} targets met. Node ${process.version}, ${availableParallelism()} cores.`,
  );
}
if (failed.length > 0) {
  console.error(`not measured: ${failed.join(', ')}; see the errors above`);
  process.exitCode = 1;
}
