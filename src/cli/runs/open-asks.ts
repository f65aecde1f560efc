import { z } from 'zod';
import type { Session } from '../../core/runtime/session.ts';
import type { Sessions } from '../../core/runtime/sessions.ts';
import { eventDefinitions } from '../../schema/event.ts';
import { SessionId } from '../../schema/ids.ts';
import { readRuns } from './read-runs.ts';
import type { Approval, Question } from './runs-view.ts';

export interface OpenAsks {
  readonly session: string;
  readonly approvals: readonly Approval[];
  readonly questions: readonly Question[];
}
export const AsksView = z.strictObject({
  session: SessionId,
  approvals: z.array(eventDefinitions['approval.requested'].payload.extend({ at: z.int() })),
  questions: z.array(eventDefinitions['question.asked'].payload),
});

const maxSessions = 1000;
const statuses = ['open', 'active', 'pausing', 'paused'] as const;

const asksOf = async (session: Session): Promise<OpenAsks> => {
  const { approvals, questions } = (await readRuns(session)).view;
  return { session: session.id, approvals, questions };
};

/**
 * Yields open approvals and questions of the sessions that changed last, newest first. Sessions are read one by one
 * on demand.
 */
export async function* openAsks(sessions: Sessions, only?: Session): AsyncGenerator<OpenAsks, void, void> {
  if (only) return yield await asksOf(only);
  const { sessions: newest } = await sessions.list({ limit: maxSessions, status: [...statuses] });
  for (const { id, waiting } of newest) {
    if (waiting !== 'approval' && waiting !== 'question') continue;
    const asks = await asksOf(await sessions.get(id));
    if (asks.approvals.length + asks.questions.length > 0) yield asks;
  }
}
