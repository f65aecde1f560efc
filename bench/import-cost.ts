import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Figure, show } from './figure.ts';
import { median, timeOf } from './statistics.ts';

const run = promisify(execFile);
const source = new URL('../src/index.ts', import.meta.url).href;

/** The time that `import 'perdure'` adds to an empty script. */
export const importCost = async (url: string, quick: boolean): Promise<readonly Figure[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const scripts = { empty: '', built: `import '${url}';`, source: `import '${source}';` };
  const times = { empty: [] as number[], built: [] as number[], source: [] as number[] };
  const names = Object.keys(scripts) as (keyof typeof scripts)[];
  for (const name of names) await writeFile(join(folder, `${name}.mjs`), scripts[name]);
  for (let time = -1; time < (quick ? 7 : 21); time++) {
    for (const name of names) {
      const taken = await timeOf(() => run(process.execPath, [join(folder, `${name}.mjs`)]));
      if (time >= 0) times[name].push(taken);
    }
  }
  await rm(folder, { recursive: true });
  const empty = median(times.empty);
  return [
    {
      name: "import 'perdure' over an empty script",
      value: median(times.built) - empty,
      unit: 'ms',
      target: { atMost: 40 },
      detail: `${show(median(times.built), 'ms')} against ${show(empty, 'ms')}; from the TypeScript sources ${show(median(times.source), 'ms')}`,
    },
  ];
};
