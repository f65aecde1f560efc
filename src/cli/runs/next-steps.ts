import type { Session } from '../../core/service/session.ts';
import type { Context } from '../command.ts';
import { printableLine } from '../printable.ts';
import type { Rest, RunsView } from './runs-view.ts';

type Waiting = Extract<Rest, { kind: 'waiting' }>['for'];

/** What to type so that a run that rests goes on. */
export const nextSteps = (context: Context, session: Session, view: RunsView, rest: Rest): readonly string[] => {
  const command = context.commandText;
  if (rest.kind === 'ended') return [];
  if (rest.kind === 'paused') return ['it is paused:', `  ${command('resume', session.id)}`];
  const approvals = view.approvals.flatMap(({ approval }) => [
    'it waits for an approval:',
    `  ${command('approve', approval)}`,
    `  ${command('deny', approval, '--reason', 'WHY')}`,
  ]);
  const questions = view.questions.flatMap(({ callId }) => [
    'it waits for an answer:',
    `  ${command('answer', session.id, callId, 'TEXT')}`,
  ]);
  const steps: Readonly<Record<Waiting, readonly string[]>> = {
    approval: [...approvals, ...questions],
    question: [...approvals, ...questions],
    budget: [
      `it waits: ${printableLine(view.run?.why ?? 'its budget is used up')}`,
      `  ${command('limit', session.id)} …`,
    ],
    human: ['a person has it:', `  ${command('handoff', session.id, '--to', 'agent')}`],
    agent: ['it waits for another agent'],
  };
  return steps[rest.for];
};
