import type { HappenedCalls } from '../../../schema/happened.ts';
import { RewindView } from '../../../schema/views/session.ts';
import { type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { parsePoint } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { happenedLines, notUndone } from '../../render/happened-lines.ts';
import { count } from '../../render/quantity.ts';
import { linesText } from '../../terminal/terminal.ts';

/** Text about cancelled inputs, appended to the answer of a rewind or retry. Empty when no input was waiting. */
export const cancelledInputs = ({ length }: readonly unknown[]): string =>
  length > 0 ? `; cancelled: ${count(length, 'waiting input')}` : '';

/** Whether the person at the terminal goes on in view of these calls. A pipe is not asked. */
export const isConfirmed = async (context: Context, beyond: HappenedCalls): Promise<boolean> => {
  const person = beyond.calls.length > 0 && !context.json ? context.person() : undefined;
  if (!person?.isTerminal) return true;
  try {
    await context.err.write(linesText(happenedLines(notUndone, beyond, context.err)));
    person.prompt('go back all the same? [y / n] ');
    return /^\s*y(es)?\s*$/i.test((await person.nextLine()) ?? '');
  } finally {
    person.close();
  }
};

export const rewind = defineCommand({
  name: 'rewind',
  summary: 'go on from an earlier point of a session; nothing is erased',
  args: ['SESSION'],
  options: {
    to: text(
      'POINT',
      'turn:3 (or just 3) for the end of a turn, seq:17 for an event, turn:5#1 for an attempt; required',
    ),
    reason: text('TEXT', 'why, for the log'),
    'dry-run': flag('only list the calls with effects beyond the point'),
    yes: flag('do not ask when calls with effects happened beyond the point'),
  },
  notes: [
    'Inputs that are waiting, at that point or now, are left behind: they will not be answered.',
    'Calls with effects beyond the point are not undone. They are listed first, and on a terminal you are asked.',
  ],
  examples: [`perdure rewind ses_… --to turn:3 --reason 'took a wrong turn'`],
  json: RewindView,
  run: async (context, { args, options: { to, reason, yes, 'dry-run': dryRun } }) => {
    if (to === undefined) throw wrongCall('rewind needs --to POINT: see `perdure help rewind`');
    const point = parsePoint(to);
    const session = await context.session(args[0]!);
    const beyond = dryRun || !yes ? await session.happened({ after: point }) : undefined;
    if (dryRun) {
      const planned = { ...(await session.summary()), cancelled: [], happened: beyond! };
      await context.answer(planned, () => {
        const lines = happenedLines(notUndone, beyond!, context.out);
        return lines.length > 0 ? lines : 'no call with effects happened beyond that point';
      });
      return undefined;
    }
    if (beyond && !(await isConfirmed(context, beyond))) {
      await context.note('nothing was changed');
      return 'failure';
    }
    const { cancelled, happened } = await session.rewind({ to: point, ...(reason !== undefined && { reason }) });
    const summary = await session.summary();
    await context.answer({ ...summary, cancelled, happened }, () => [
      `${session.id} goes on from turn ${summary.turn}, ${count(summary.messages, 'message')}`,
      `what came after stays in its log${cancelledInputs(cancelled)}`,
      ...happenedLines(notUndone, happened, context.out),
    ]);
    return undefined;
  },
});
