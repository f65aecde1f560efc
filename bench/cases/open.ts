import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench, BenchCase } from '../bench-case.ts';
import { type Figure, show } from '../figure.ts';
import type { History } from '../histories.ts';
import { median } from '../statistics.ts';

const opener = fileURLToPath(new URL('../opener.ts', import.meta.url));
const run = promisify(execFile);

interface Opening {
  /** The time to open the database: threads, connections, schema. */
  readonly store: number;
  /** The time from the opened database to the assembled context. */
  readonly context: number;
}

/** Opens a session in a new runtime, which has nothing cached. */
const openHere = async ({ library }: Bench, { place, session }: History): Promise<Opening> => {
  const start = performance.now();
  const runtime = await library.openRuntime({ store: place.address });
  const opened = performance.now();
  const context = await (await runtime.sessions.get(session)).context();
  const assembled = performance.now();
  await runtime.close();
  if (context.messages.length === 0) throw new Error('the context is empty');
  return { store: opened - start, context: assembled - opened };
};

const openElsewhere = async ({ library }: Bench, { place, session }: History): Promise<Opening> => {
  const { stdout } = await run(process.execPath, [opener, library.url, place.address, session]);
  const { imported, opened, assembled } = JSON.parse(stdout) as Record<'imported' | 'opened' | 'assembled', number>;
  return { store: opened - imported, context: assembled - opened };
};

const repeat = async (
  bench: Bench,
  histories: readonly History[],
  times: number,
  once: (bench: Bench, history: History) => Promise<Opening>,
): Promise<readonly Opening[]> => {
  const openings = histories.map((): Opening[] => []);
  for (let time = -1; time < times; time++) {
    for (const [at, history] of histories.entries()) {
      const opening = await once(bench, history);
      if (time >= 0) openings[at]!.push(opening);
    }
  }
  return openings.map((each) => ({
    store: median(each.map(({ store }) => store)),
    context: median(each.map(({ context }) => context)),
  }));
};

const figuresOf = (where: string, histories: readonly History[], openings: readonly Opening[]): readonly Figure[] => {
  const total = ({ store, context }: Opening) => store + context;
  const [shortest, longest] = [openings[0]!, openings.at(-1)!];
  const against = `${histories.at(-1)!.turns} turns against ${histories[0]!.turns}`;
  return [
    ...histories.map(
      ({ turns }, at): Figure => ({
        name: `cold to context, ${turns} turns, ${where}`,
        value: total(openings[at]!),
        unit: 'ms',
        detail: `of which the database ${show(openings[at]!.store, 'ms')}`,
      }),
    ),
    {
      name: `cold to context, ${against}, ${where}`,
      value: total(longest) / total(shortest),
      unit: 'x',
      target: { atMost: 2 },
      detail: `${show(total(longest), 'ms')} against ${show(total(shortest), 'ms')}`,
    },
    {
      name: `the same without opening the database, ${where}`,
      value: longest.context / shortest.context,
      unit: 'x',
      target: { atMost: 2 },
      detail: `${show(longest.context, 'ms')} against ${show(shortest.context, 'ms')}`,
    },
  ];
};

/** Measures the time from nothing to the next context of a model. */
export const open: BenchCase = async (bench) => {
  const { histories, turns, quick, progress } = bench;
  const all: History[] = [];
  for (const count of turns) all.push(await histories.of(count));
  progress('open');
  return [
    ...figuresOf('same process', all, await repeat(bench, all, quick ? 5 : 15, openHere)),
    ...figuresOf('new process', all, await repeat(bench, all, quick ? 3 : 7, openElsewhere)),
  ];
};
