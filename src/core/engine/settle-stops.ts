import { isPerdureError } from '../../schema/error.ts';
import type { SessionKey } from '../ports/store.ts';
import { concernsRun, isUnsettled, settlement } from '../session/runs/settlement.ts';
import { readPartialAnswer } from './read-partial-answer.ts';
import type { Decide, RunWriter } from './run-writer.ts';
import type { WriteAccess } from './scope.ts';
import { readHead, writeDecision } from './session-writer.ts';

/**
 * Settles the stops of a session: ends open calls and cancelled runs, and records why other runs rest. Every process
 * may call it at any time. `writer` is the writer of the stop, which holds the epoch unless it was fenced meanwhile.
 * The end of runs that never began does not fence the worker of another one.
 */
export const settleStops = async (scope: WriteAccess, key: SessionKey, writer?: RunWriter): Promise<void> => {
  const decide: Decide = async (fold) => {
    if (!isUnsettled(fold)) return undefined;
    return settlement(fold, { now: scope.clock.now(), partial: await readPartialAnswer(scope, key, fold) });
  };
  if (writer?.fence) {
    try {
      await writer.decide(decide);
      return;
    } catch (error) {
      if (!isPerdureError(error, 'FENCED')) throw error;
    }
  }
  await writeDecision(scope, key, {
    read: () => readHead(scope, key),
    decide: async (fold) => ({
      drafts: (await decide(fold)) ?? [],
      takesOver: true,
      raisesEpoch: concernsRun(fold),
    }),
  });
};
