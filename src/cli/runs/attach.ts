import type { Session } from '../../core/service/session.ts';
import type { Context } from '../command.ts';
import type { Ending } from '../exit-codes.ts';
import { followLive, type LiveOptions } from './follow-live.ts';
import { type Runs, readRuns } from './read-runs.ts';

/** A run whose budget was changed while it waited may be able to go on: only a worker can tell. */
const currentRuns = async (context: Context, session: Session): Promise<Runs> => {
  const runs = await readRuns(session);
  if (runs.view.run?.waitingFor !== 'budget' || !runs.isBudgetNew) return runs;
  const worker = (await context.runtime()).worker({ session: session.id });
  await worker.runUntilIdle();
  return readRuns(session);
};

/** Follows from where the newest run began, or after the event that is named. */
export const attachTo = async (
  context: Context,
  session: Session,
  options: Omit<LiveOptions, 'session' | 'runs' | 'after'> & { readonly after?: number | undefined } = {},
): Promise<Ending> => {
  const runs = await currentRuns(context, session);
  const after = options.after ?? (runs.newestAt === undefined ? runs.seq : runs.newestAt - 1);
  return followLive(context, { ...options, session, runs, after });
};
