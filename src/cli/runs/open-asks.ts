import { z } from 'zod';
import type { Session } from '../../core/runtime/session.ts';
import type { Sessions } from '../../core/runtime/sessions.ts';
import { eventDefinitions } from '../../schema/event.ts';
import { ShownHandoff } from '../../schema/handoff.ts';
import { SessionId } from '../../schema/ids.ts';
import { readRuns } from './read-runs.ts';
import type { Approval, Question } from './runs-view.ts';

export interface OpenAsks {
  readonly session: string;
  readonly approvals: readonly Approval[];
  readonly questions: readonly Question[];
  /** Present if people hold the session. */
  readonly handoff?: ShownHandoff | undefined;
}
export const AsksView = z.strictObject({
  session: SessionId,
  approvals: z.array(eventDefinitions['approval.requested'].payload.extend({ at: z.int() })),
  questions: z.array(eventDefinitions['question.asked'].payload),
  handoff: ShownHandoff.optional(),
});

const maxSessions = 1000;
const statuses = ['open', 'active', 'pausing', 'paused'] as const;

const asksOf = async (session: Session): Promise<OpenAsks> => {
  const { approvals, questions } = (await readRuns(session)).view;
  return { session: session.id, approvals, questions };
};

/**
 * Yields open approvals and questions, and handoffs, of the sessions that changed last, newest first. Sessions are read
 * one by one on demand, and those with a handoff alone are not read.
 */
export async function* openAsks(sessions: Sessions, only?: Session): AsyncGenerator<OpenAsks, void, void> {
  if (only) {
    const { handoff } = await only.summary();
    return yield { ...(await asksOf(only)), ...(handoff && { handoff }) };
  }
  const { sessions: newest } = await sessions.list({ limit: maxSessions, status: [...statuses] });
  for (const { id, waiting, handoff } of newest) {
    const isAsked = waiting === 'approval' || waiting === 'question' || waiting === 'human';
    if (!isAsked && !handoff) continue;
    const none = { session: id, approvals: [], questions: [] };
    const asks = isAsked ? await asksOf(await sessions.get(id)) : none;
    if (handoff || asks.approvals.length + asks.questions.length > 0) yield { ...asks, ...(handoff && { handoff }) };
  }
}
