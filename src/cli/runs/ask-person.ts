import type { Session } from '../../core/runtime/session.ts';
import { printableLine } from '../terminal/printable.ts';
import type { RunsView } from './runs-view.ts';

/** A prompt for a person, and the handling of the typed line. */
export interface Ask {
  readonly id: string;
  readonly prompt: string;
  /** Handles the typed line. Returns what is wrong with it, or undefined if it was a valid answer. */
  answer(session: Session, line: string): Promise<string | undefined>;
}

const approvalAsk = (id: string, tool: string): Ask => ({
  id,
  prompt: `allow ${printableLine(tool)}? [y / n / n and why] `,
  answer: async (session, line) => {
    const [, word = '', reason = ''] = /^\s*(\S*)\s*(.*?)\s*$/.exec(line) ?? [];
    if (/^y(es)?$/i.test(word) && reason === '') return void (await session.approve(id));
    if (/^no?$/i.test(word)) return void (await session.deny(id, reason ? { comment: reason } : {}));
    return 'type y to allow it, n to deny it, or n and a reason';
  },
});

const questionAsk = (callId: string): Ask => ({
  id: callId,
  prompt: 'your answer: ',
  answer: async (session, line) => {
    if (line.trim() === '') return 'an answer needs text';
    return void (await session.answer(callId, line.trim()));
  },
});

/** The first open approval or question. */
export const askOf = ({ approvals: [approval], questions: [question] }: RunsView): Ask | undefined => {
  if (approval) return approvalAsk(approval.approval, approval.tool);
  return question && questionAsk(question.callId);
};
