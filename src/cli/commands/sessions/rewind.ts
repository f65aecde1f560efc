import { RewindView } from '../../../schema/views/session.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { parsePoint } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';

/** Text about cancelled inputs, appended to the answer of a rewind or retry. Empty when no input was waiting. */
export const cancelledInputs = ({ length }: readonly unknown[]): string =>
  length > 0 ? `; cancelled: ${count(length, 'waiting input')}` : '';

export const rewind = defineCommand({
  name: 'rewind',
  summary: 'go on from an earlier point of a session; nothing is erased',
  args: ['SESSION'],
  options: {
    to: text('POINT', 'turn:3 (or just 3) for the end of a turn, seq:17 for an event; required'),
    reason: text('TEXT', 'why, for the log'),
  },
  notes: ['Inputs that are waiting, at that point or now, are left behind: they will not be answered.'],
  examples: [`perdure rewind ses_… --to turn:3 --reason 'took a wrong turn'`],
  json: RewindView,
  run: async (context, { args, options: { to, reason } }) => {
    if (to === undefined) throw wrongCall('rewind needs --to POINT: see `perdure help rewind`');
    const point = parsePoint(to);
    const session = await context.session(args[0]!);
    const { cancelled } = await session.rewind({ to: point, ...(reason !== undefined && { reason }) });
    const summary = await session.summary();
    await context.answer(
      { ...summary, cancelled },
      () =>
        `${session.id} goes on from turn ${summary.turn}, ${count(summary.messages, 'message')}; what came after stays in its log${cancelledInputs(cancelled)}`,
    );
  },
});
