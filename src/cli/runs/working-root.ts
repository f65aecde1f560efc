import type { Session } from '../../core/runtime/session.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { Context } from '../parse/command.ts';
import { readRuns } from './read-runs.ts';

const parentOf = async (context: Context, session: Session): Promise<Session | undefined> => {
  const { calledBy } = await session.summary();
  if (!calledBy) return undefined;
  try {
    return await context.session(calledBy.session);
  } catch (error) {
    if (isPerdureError(error, 'SESSION_NOT_FOUND')) return undefined;
    throw error;
  }
};

/**
 * The session to claim so that this one is continued: for a subagent's session, the parent that waits for it;
 * otherwise this session.
 */
export const workingRoot = async (context: Context, session: Session): Promise<Session> => {
  const parent = await parentOf(context, session);
  if (!parent) return session;
  const { view } = await readRuns(parent);
  return view.run?.waitsIn === session.id ? workingRoot(context, parent) : session;
};
