import type { Session } from '../../core/runtime/session.ts';
import { awaited } from '../../schema/run.ts';
import type { Context } from '../parse/command.ts';
import { isoTime } from '../render/time.ts';
import { wrapCommand } from '../render/wrap-command.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Rest, RunsView } from './runs-view.ts';

type Waiting = Extract<Rest, { kind: 'waiting' }>['for'];

const beginnings = (send: readonly string[], { queue: [next] }: RunsView): readonly string[] =>
  next?.notBefore === undefined
    ? ['nothing is running or waiting; to begin:', ...send]
    : [`its next input starts at ${isoTime(next.notBefore)}, if a worker is running then`];

const toType = ({ err }: Context, text: string): readonly string[] => wrapCommand(text, err.columns, '  ');

export const stepsOfPaused = (context: Context, session: Session): readonly string[] => [
  'it is paused, and inputs wait until it is resumed:',
  ...toType(context, context.commandText('resume', session.id)),
];

/** Commands that make a resting run continue. */
export const nextSteps = (context: Context, session: Session, view: RunsView, rest: Rest): readonly string[] => {
  const command = context.commandText;
  const typed = (text: string) => toType(context, text);
  if (view.status === 'paused' || rest.kind === 'paused') return stepsOfPaused(context, session);
  if (rest.kind === 'ended') return rest.end ? [] : beginnings(typed(command('send', session.id, 'TEXT')), view);
  if (view.run?.waitsIn) {
    return [
      `it waits for ${awaited[rest.for]} in the session of a subagent:`,
      ...typed(command('attach', view.run.waitsIn)),
    ];
  }
  const approvals = view.approvals.flatMap(({ approval }) => [
    'it waits for an approval:',
    ...typed(command('approve', approval)),
    ...typed(command('deny', approval, '--comment', 'WHY')),
  ]);
  const questions = view.questions.flatMap(({ callId }) => [
    'it waits for an answer:',
    ...typed(command('answer', session.id, callId, 'TEXT')),
  ]);
  const steps: Readonly<Record<Waiting, readonly string[]>> = {
    approval: [...approvals, ...questions],
    question: [...approvals, ...questions],
    budget: [
      `it waits: ${printableLine(view.run?.why ?? 'its budget is used up')}`,
      ...typed(`${command('limit', session.id)} …`),
    ],
    quota: [`it waits: ${printableLine(view.run?.why ?? 'a quota is used up')}`],
    human: [
      view.heldBy === undefined || view.heldBy === 'human'
        ? 'a person has it:'
        : `${printableLine(view.heldBy)} has it:`,
      ...typed(command('handoff', session.id, '--to', 'agent')),
    ],
    agent: [
      `it waits: ${printableLine(view.run?.why ?? 'no worker has its agent')}`,
      '  start one whose configuration has it: perdure worker --config FILE',
    ],
    model: [],
  };
  return steps[rest.for];
};
