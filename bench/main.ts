import { availableParallelism } from 'node:os';
import type { Bench } from './bench-case.ts';
import { engineCases } from './cases/index.ts';
import type { Engine, EngineName } from './engines/engine.ts';
import { postgresEngine } from './engines/postgres.ts';
import { sqliteEngine } from './engines/sqlite.ts';
import { type Result, resultOf } from './figure.ts';
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

const runEngine = async (library: Library, name: EngineName): Promise<readonly Result[]> => {
  const results: Result[] = [];
  const cases = Object.entries(engineCases).filter(([each]) => (options.cases as readonly string[]).includes(each));
  if (cases.length === 0) return results;
  const tell = (what: string) => progress(`${name}: ${what}`);
  tell('start');
  const engine = await engines[name]();
  const histories = new Histories(library, engine, tell);
  const { quick } = options;
  const turns = quick ? [100, 1000] : [100, 1000, 10_000];
  const bench: Bench = { library, engine, histories, quick, turns, progress: tell };
  try {
    for (const [each, measure] of cases) {
      results.push(...(await measure(bench)).map((figure) => resultOf(each, name, figure)));
    }
    await histories.remove();
  } finally {
    await engine.close();
  }
  return results;
};

leaveMemoryFileSystems();
progress('building the library');
const library = await buildLibrary();
const results: Result[] = [];
try {
  for (const name of options.engines) results.push(...(await runEngine(library, name)));
  if (options.cases.includes('files')) {
    progress('files');
    results.push(...(await filesCost(library.url, options.quick)).map((each) => resultOf('files', '', each)));
  }
  if (options.cases.includes('import')) {
    progress('import');
    results.push(...(await importCost(library.url, options.quick)).map((each) => resultOf('import', '', each)));
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
