import type { Session } from '../../core/runtime/session.ts';
import type { Context } from '../parse/command.ts';
import type { Ending } from '../parse/exit-codes.ts';
import { type LiveOptions, LiveSession } from './live-session.ts';
import { readRuns } from './read-runs.ts';

/** Follows a session, from the beginning of its newest run or after the given event. */
export const attachTo = async (
  context: Context,
  session: Session,
  options: Omit<LiveOptions, 'session' | 'runs' | 'after'> & { readonly after?: number | undefined } = {},
): Promise<Ending> => {
  const runs = await readRuns(session);
  const after = options.after ?? (runs.newestAt === undefined ? runs.seq : runs.newestAt - 1);
  return new LiveSession(context, { ...options, session, runs, after }).follow();
};
