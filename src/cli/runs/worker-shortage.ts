import type { WorkerInfo } from '../../core/runs/list-workers.ts';
import type { Session } from '../../core/runtime/session.ts';
import { isPerdureError } from '../../schema/error.ts';
import { nameOf } from '../config/choose-agent.ts';
import type { Context } from '../parse/command.ts';

/** Lists the workers. Returns undefined if the key does not permit it. */
const workersOf = async ({ runtime }: Context): Promise<readonly WorkerInfo[] | undefined> => {
  try {
    return await (await runtime()).workers();
  } catch (error) {
    if (isPerdureError(error)) return undefined;
    throw error;
  }
};

export interface Shortage {
  /** Whether the workers could be listed. If not, one may well be there. */
  readonly isKnown: boolean;
  readonly text: string;
}

/** Says why no worker claims a run of the session. Undefined while a worker holds it or has capacity for it. */
export const workerShortage = async (context: Context, session: Session): Promise<Shortage | undefined> => {
  const [workers, { agent }] = await Promise.all([workersOf(context), session.summary()]);
  const held = agent ? nameOf(agent) : '';
  const able = workers?.filter(({ status, agents }) => status === 'working' && agents.includes(held));
  const isHeld = workers?.some(({ status, holds }) => status !== 'lost' && holds.includes(session.id));
  if (isHeld || able?.some(({ hasRoom }) => hasRoom)) return undefined;
  const why = able === undefined ? '' : able.length === 0 ? `: none has the agent ${held}` : ': all are busy';
  const text = `no worker has taken it yet${why}; start one with \`perdure worker\` where the store is`;
  return { isKnown: workers !== undefined, text };
};
