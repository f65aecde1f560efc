import type { Bench } from '../bench-case.ts';
import { atOnce } from '../cases/append.ts';
import type { Figure } from '../figure.ts';
import { onStage } from './stage.ts';

const eventsPerRound = 224;

/** Appends of so many sessions in one process, against the same rows in groups of the same size. */
export const writers = (bench: Bench): Promise<readonly Figure[]> =>
  onStage(bench, {}, async ({ runtime, place, quick }) => {
    const bare = await place.openBare();
    const figures: Figure[] = [];
    for (const count of [1, 8, 32]) {
      const load = { writers: count, perWriter: eventsPerRound / count, rounds: quick ? 4 : 10 };
      figures.push(...(await atOnce(runtime, bare, load)));
    }
    await bare.close();
    return figures;
  });
