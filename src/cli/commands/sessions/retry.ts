import { RetryView } from '../../../schema/views/session.ts';
import { defineCommand } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { cancelledInputs } from './rewind.ts';

export const retry = defineCommand({
  name: 'retry',
  summary: 'try a turn again, as another attempt; nothing is erased',
  args: ['SESSION', 'TURN'],
  options: {},
  notes: [
    'Inputs that are waiting are cancelled: they will not be answered.',
    '`perdure diff SESSION turn:3#1 turn:3#2` compares two attempts at turn 3.',
  ],
  examples: ['perdure retry ses_… 3'],
  json: RetryView,
  run: async (context, { args: [named, number] }) => {
    const turn = parseCount('TURN', number!.replace(/^turn:/, ''), 1)!;
    const session = await context.session(named!);
    const { message, run, turn: next, cancelled } = await session.retry({ turn });
    const text = `turn ${turn} is tried again${run ? '' : ` as turn ${next}`}${cancelledInputs(cancelled)}`;
    await context.answer({ message, turn: next, run: run?.id, cancelled }, () => text);
    if (run) await (await import('../../runs/carry-on.ts')).carryOn(context, session);
  },
});
