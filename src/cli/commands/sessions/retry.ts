import { RetryView } from '../../../schema/views/session.ts';
import { defineCommand, flag } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { happenedLines, notUndone } from '../../render/happened-lines.ts';
import { cancelledInputs } from './rewind.ts';

export const retry = defineCommand({
  name: 'retry',
  summary: 'try a turn again, as another attempt; nothing is erased',
  args: ['SESSION', 'TURN'],
  options: {
    again: flag('retry although calls of the turn took effect, or may have'),
  },
  notes: [
    'Inputs that are waiting are cancelled: they will not be answered.',
    'With --again, the approval or refusal of each repeated `once` call still applies.',
    '`perdure diff SESSION turn:3#1 turn:3#2` compares two attempts at turn 3.',
  ],
  examples: ['perdure retry ses_… 3', 'perdure retry ses_… 3 --again'],
  json: RetryView,
  run: async (context, { args: [named, number], options: { again } }) => {
    const turn = parseCount('TURN', number!.replace(/^turn:/, ''), 1)!;
    const session = await context.session(named!);
    const { message, run, turn: next, cancelled, happened } = await session.retry({ turn, again });
    const text = `turn ${turn} is tried again${run ? '' : ` as turn ${next}`}${cancelledInputs(cancelled)}`;
    await context.answer({ message, turn: next, run: run?.id, cancelled, happened }, () => [
      text,
      ...happenedLines(notUndone, happened, context.out),
    ]);
    if (run) await (await import('../../runs/carry-on.ts')).carryOn(context, session);
  },
});
