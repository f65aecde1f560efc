import type { Retry } from '../../../core/runs/retry.ts';
import type { Run } from '../../../core/runs/runs.ts';
import type { Session } from '../../../core/runtime/session.ts';
import type { SessionDiff } from '../../../core/state/diff.ts';
import type { Attempt } from '../../../schema/point.ts';
import { DiffView, RetryView } from '../../../schema/views/session.ts';
import { type Context, defineCommand, flag } from '../../parse/command.ts';
import type { Ending } from '../../parse/exit-codes.ts';
import { parseCount } from '../../parse/point.ts';
import { happenedLines, notUndone } from '../../render/happened-lines.ts';
import { noteOlder } from '../../render/note-older.ts';
import { renderDiff } from '../../render/render-diff.ts';
import { linesText } from '../../terminal/terminal.ts';
import { cancelledInputs } from './rewind.ts';

const attemptName = ({ turn, attempt }: Attempt): string => `turn:${turn}#${attempt}`;

/** Follows the run that answers the new attempt. With --json, nothing of it is shown. */
const follow = async (context: Context, session: Session, run: Run): Promise<Ending> => {
  const { attachTo } = await import('../../runs/attach.ts');
  const person = context.person();
  try {
    const show = context.json ? { show: async () => undefined } : {};
    return await attachTo(context, session, { target: run.id, person, ...show });
  } finally {
    person?.close();
  }
};

const isOver = (ending: Ending): boolean => ending === 'success' || ending === 'failure' || ending === 'cancelled';

/** The diff of the attempts. Undefined if the new attempt has not begun, for example because its run was cancelled. */
const diffOf = async (session: Session, { previous, next }: Retry['attempts']): Promise<SessionDiff | undefined> => {
  const { attempts } = await session.attempts({ turn: next.turn });
  return attempts.length >= next.attempt ? session.diff(previous, next) : undefined;
};

export const retry = defineCommand({
  name: 'retry',
  summary: 'try a turn again, as another attempt; nothing is erased',
  args: ['SESSION', 'TURN'],
  options: {
    again: flag('retry although calls of the turn took effect, or may have'),
    detach: flag('leave the run to a background process and return at once'),
  },
  notes: [
    'Inputs that are waiting are cancelled: they will not be answered.',
    'With --again, the approval or refusal of each repeated `once` call still applies.',
    'The run of the new attempt is followed. When it is over, the diff of the two attempts is printed, which `perdure diff SESSION turn:3#1 turn:3#2` prints again.',
    'Ctrl-C leaves the run to a background process, a second Ctrl-C cancels it. Exit codes are those of send.',
  ],
  examples: ['perdure retry ses_… 3', 'perdure retry ses_… 3 --again', 'perdure retry ses_… 3 --detach'],
  json: RetryView.extend({ diff: DiffView.optional() }),
  run: async (context, { args: [named, number], options: { again, detach } }) => {
    const turn = parseCount('TURN', number!.replace(/^turn:/, ''), 1)!;
    const session = await context.session(named!);
    const retried = await session.retry({ turn, again });
    const { message, run, turn: next, attempts, cancelled, happened } = retried;
    const answer = { message, turn: next, run: run?.id, attempts, cancelled, happened };
    const text = `turn ${turn} is tried again${run ? '' : ` as turn ${next}`}${cancelledInputs(cancelled)}`;
    const names = [attempts.previous, attempts.next].map(attemptName);
    const compare = context.commandText('diff', session.id, ...names);
    if (!run || detach) {
      await context.answer(answer, () => [
        text,
        ...happenedLines(notUndone, happened, context.out),
        `to compare the attempts when it is answered: ${compare}`,
      ]);
      if (run) await (await import('../../runs/carry-on.ts')).carryOn(context, session);
      return undefined;
    }
    for (const line of [text, ...happenedLines(notUndone, happened, context.err)]) await context.note(line);
    const ending = await follow(context, session, run);
    const diff = isOver(ending) ? await diffOf(session, attempts) : undefined;
    if (context.json) await context.answer({ ...answer, ...(diff && { diff }) }, () => []);
    else if (diff) {
      await context.out.write(
        linesText([context.out.style('bold', names.join(' → ')), ...renderDiff(diff, context.out)]),
      );
      await noteOlder(context, ['diff', session.id, ...names], {}, diff.cursor, 'more');
    } else await context.note(`to compare the attempts when it is over: ${compare}`);
    return ending;
  },
});
