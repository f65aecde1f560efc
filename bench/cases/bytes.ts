import type { Bench, BenchCase } from '../bench-case.ts';
import { type Figure, show } from '../figure.ts';
import { type History, writeHistory } from '../histories.ts';
import { randomContent } from '../workload.ts';

const perTurn = ({ diskBytes, turns }: History): number => diskBytes / turns;

const figuresOf = (history: History, content: string): readonly Figure[] => {
  const { turns, diskBytes, jsonBytes, payloadBytes } = history;
  return [
    {
      name: `bytes on disk per byte of JSON, ${turns} turns, ${content}`,
      value: diskBytes / jsonBytes,
      unit: 'x',
      target: { atMost: 1 },
      detail: `${show(perTurn(history), 'B')} a turn of ${show(jsonBytes / turns, 'B')}; ${show(diskBytes / payloadBytes, 'x')} of the payloads alone`,
    },
  ];
};

const ofRandomContent = async ({ library, engine, turns, progress }: Bench): Promise<readonly Figure[]> => {
  progress('writing random content');
  const history = await writeHistory(library, engine, Math.min(1000, turns.at(-1)!), randomContent());
  await history.place.remove();
  return figuresOf(history, 'random base64').map(({ target: _, ...figure }) => figure);
};

/** Counts everything that the library stores for a session: events, indexes, folds, summaries. */
export const bytes: BenchCase = async (bench) => {
  const { histories, turns } = bench;
  const figures: Figure[] = [];
  const all: History[] = [];
  for (const count of turns) {
    const history = await histories.of(count);
    all.push(history);
    figures.push(...figuresOf(history, 'real text'));
  }
  const [first, last] = [all[0]!, all.at(-1)!];
  return [
    ...figures,
    {
      name: `bytes a turn, ${last.turns} turns against ${first.turns}`,
      value: perTurn(last) / perTurn(first),
      unit: 'x',
      target: { atMost: 1.1 },
      detail: `${show(perTurn(last), 'B')} against ${show(perTurn(first), 'B')}`,
    },
    ...(await ofRandomContent(bench)),
  ];
};
