import type { Runtime, Session } from '../../src/index.ts';
import type { Bench, BenchCase } from '../bench-case.ts';
import { type Figure, show } from '../figure.ts';
import type { History } from '../histories.ts';
import { median, timeOf } from '../statistics.ts';

const depth = 100;

interface Forks {
  readonly turns: number;
  readonly commit: number;
  readonly middle: number;
  readonly deep: number;
  readonly deepMiddle: number;
  readonly bytes: number;
}

/** A chain of forks, each with its own message. */
const chainOf = async (root: Session): Promise<Session> => {
  let session = root;
  for (let level = 0; level < depth; level++) {
    session = await session.fork();
    await session.append({ role: 'assistant', content: `At depth ${level + 1}.` });
  }
  return session;
};

const bytesPerFork = async ({ library, quick }: Bench, { place, session, turns }: History): Promise<number> => {
  const before = await place.bytes();
  const runtime = await library.openRuntime({ store: place.address });
  const root = await runtime.sessions.get(session);
  const count = quick ? 200 : 500;
  for (let made = 0; made < count; made++) await root.fork({ at: { turn: Math.floor(turns / 2) } });
  await runtime.close();
  return ((await place.bytes()) - before) / count;
};

const timesOf = async (runtime: Runtime, { session, turns }: History, times: number) => {
  const root = await runtime.sessions.get(session);
  const deepest = await chainOf(root);
  const plain = await runtime.sessions.open();
  const taken = { commit: [] as number[], middle: [] as number[], deep: [] as number[], deepMiddle: [] as number[] };
  for (let time = 0; time < times; time++) {
    // Forks at a different turn each time, because users do not fork twice at the same point.
    const at = { turn: Math.floor(turns / 2) - (time % Math.min(40, turns / 4)) };
    taken.commit.push(await timeOf(() => plain.append({ role: 'user', content: 'One commit, to compare.' })));
    taken.middle.push(await timeOf(() => root.fork({ at })));
    taken.deep.push(await timeOf(() => deepest.fork()));
    taken.deepMiddle.push(await timeOf(() => deepest.fork({ at })));
  }
  return {
    commit: median(taken.commit),
    middle: median(taken.middle),
    deep: median(taken.deep),
    deepMiddle: median(taken.deepMiddle),
  };
};

const measure = async (bench: Bench, history: History): Promise<Forks> => {
  const bytes = await bytesPerFork(bench, history);
  const runtime = await bench.library.openRuntime({ store: history.place.address });
  const times = await timesOf(runtime, history, bench.quick ? 30 : 80);
  await runtime.close();
  return { turns: history.turns, bytes, ...times };
};

const places = {
  middle: 'fork at the middle',
  deep: `fork at depth ${depth}`,
  deepMiddle: `fork at the middle from depth ${depth}`,
};

/** Measures forks. When the call returns, the fork exists and is as durable as a commit. */
export const fork: BenchCase = async (bench) => {
  const all: Forks[] = [];
  for (const count of bench.turns) {
    const history = await bench.histories.of(count);
    bench.progress(`fork of ${count} turns`);
    all.push(await measure(bench, history));
  }
  const [shortest, longest] = [all[0]!, all.at(-1)!];
  const kinds = Object.entries(places) as [keyof typeof places, string][];
  return [
    ...kinds.flatMap(([kind, name]): readonly Figure[] => [
      ...all.map(
        (forks): Figure => ({
          name: `${name}, ${forks.turns} turns`,
          value: forks[kind],
          unit: 'ms',
          detail: `${show(forks[kind] / forks.commit, 'x')} of one commit (${show(forks.commit, 'ms')})`,
        }),
      ),
      {
        name: `${name}, ${longest.turns} turns against ${shortest.turns}`,
        value: longest[kind] / shortest[kind],
        unit: 'x',
        target: { atMost: 2 },
        detail: `${show(longest[kind], 'ms')} against ${show(shortest[kind], 'ms')}`,
      },
    ]),
    { name: 'fork against one commit', value: longest.middle / longest.commit, unit: 'x', target: { atMost: 2 } },
    {
      name: 'bytes that a fork adds',
      value: Math.max(...all.map(({ bytes }) => bytes)),
      unit: 'B',
      target: { atMost: 4096 },
    },
  ];
};
