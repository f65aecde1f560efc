import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../../core/service/session.ts';
import type { Context } from '../command.ts';
import type { Ending } from '../exit-codes.ts';
import { type LiveOptions, LiveSession } from './live-session.ts';
import { type Runs, readRuns } from './read-runs.ts';

const mayGoOnWithinMs = 3000;
const lookEveryMs = 100;

const isUndecided = ({ view, isBudgetNew }: Runs): boolean => view.run?.waitingFor === 'budget' && isBudgetNew;

/** A run whose budget was changed while it waited may go on: only a worker can tell, this one or another. */
const currentRuns = async (context: Context, session: Session): Promise<Runs> => {
  let runs = await readRuns(session);
  for (let waitedMs = 0; isUndecided(runs) && waitedMs < mayGoOnWithinMs; waitedMs += lookEveryMs) {
    await (await context.runtime()).worker({ session: session.id }).runUntilIdle();
    await sleep(lookEveryMs);
    runs = await readRuns(session);
  }
  return runs;
};

/** Follows from where the newest run began, or after the event that is named. */
export const attachTo = async (
  context: Context,
  session: Session,
  options: Omit<LiveOptions, 'session' | 'runs' | 'after'> & { readonly after?: number | undefined } = {},
): Promise<Ending> => {
  const runs = await currentRuns(context, session);
  const after = options.after ?? (runs.newestAt === undefined ? runs.seq : runs.newestAt - 1);
  return new LiveSession(context, { ...options, session, runs, after }).follow();
};
