import type { Bench } from '../bench-case.ts';
import { atOnce } from '../cases/append.ts';
import type { Figure } from '../figure.ts';
import { onStage } from './stage.ts';

/**
 * Events per round. There are so many that the beginning and end of a round, when only one side works, matter little.
 */
const eventsPerRound = 896;

/**
 * Measures appends to this many sessions in one process, compared with bare inserts of the same rows in groups of the
 * same size.
 */
export const writers = (bench: Bench): Promise<readonly Figure[]> =>
  onStage(bench, {}, async ({ runtime, place, quick }) => {
    const bare = await place.openBare();
    const figures: Figure[] = [];
    for (const count of [1, 8, 32]) {
      const load = { writers: count, perWriter: eventsPerRound / count, rounds: quick ? 3 : 8 };
      figures.push(...(await atOnce(runtime, { place, bare }, load)));
    }
    await bare.close();
    return figures;
  });
