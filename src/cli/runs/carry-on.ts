import type { Session } from '../../core/runtime/session.ts';
import { holdsAgentOf } from '../config/choose-agent.ts';
import type { Context } from '../parse/command.ts';
import { readRuns } from './read-runs.ts';
import { restOf } from './runs-view.ts';
import { workerShortage } from './worker-shortage.ts';
import { workingRoot } from './working-root.ts';

/**
 * Continues a run whose wait is over. If its agent is configured here, a background process is started; otherwise a
 * worker elsewhere must continue it.
 */
export const carryOn = async (context: Context, session: Session): Promise<void> => {
  const { view } = await readRuns(session);
  const root = await workingRoot(context, session);
  if (restOf(view)) return;
  const isOurs = context.server === undefined && holdsAgentOf(await context.config(), await root.summary());
  if (isOurs) context.startWorker(root);
  const shortage = isOurs ? undefined : await workerShortage(context, root);
  const attach = context.commandText('attach', root.id);
  // A key that may not list the workers cannot know that there is none.
  if (shortage && !shortage.isKnown) return context.note(`it goes on as soon as a worker takes it: ${attach}`);
  await context.note(shortage?.text ?? `it goes on in the background: ${attach}`);
};
