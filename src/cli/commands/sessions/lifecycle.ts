import type { Session } from '../../../core/runtime/session.ts';
import type { Status } from '../../../schema/statuses.ts';
import { SummaryView } from '../../../schema/views/session.ts';
import { type Command, defineCommand, type Options, text } from '../../parse/command.ts';
import { statusText } from '../../terminal/paint.ts';

interface Transition {
  readonly summary: string;
  /** Example of a reason, for transitions that accept one. */
  readonly reason?: string;
  /** Set if waiting runs may continue after the transition. */
  readonly letsRun?: true;
  /** Only sessions with these statuses are candidates for `-`, the most recent session. */
  readonly lastOf?: readonly Status[];
  readonly apply: (session: Session, about: { reason?: string }) => Promise<void>;
}

const transitions: Readonly<Record<string, Transition>> = {
  pause: {
    summary: 'pause a session: nothing is appended until it is resumed',
    reason: 'waiting for review',
    apply: (session, about) => session.pause(about),
  },
  resume: { summary: 'let a paused session go on', letsRun: true, apply: (session) => session.resume() },
  close: { summary: 'end a session', reason: 'done', apply: (session, about) => session.close(about) },
  reopen: { summary: 'open a closed session again', apply: (session) => session.reopen() },
  archive: { summary: 'put a closed session away', apply: (session) => session.archive() },
  unarchive: {
    summary: 'bring an archived session back, as a closed one',
    lastOf: ['archived'],
    apply: (session) => session.unarchive(),
  },
};

const reasonOption = { reason: text('TEXT', 'why, for the log') };

export const lifecycleCommands: readonly Command[] = Object.entries(transitions).map(
  ([name, { summary, reason: example, letsRun, lastOf, apply }]) =>
    defineCommand<Options>({
      name,
      summary,
      args: ['SESSION'],
      options: example ? reasonOption : {},
      examples: [`perdure ${name} ses_…${example ? ` --reason '${example}'` : ''}`],
      json: SummaryView,
      run: async (context, { args, options: { reason } }) => {
        const session = await context.session(args[0]!, lastOf);
        await apply(session, typeof reason === 'string' ? { reason } : {});
        const after = await session.summary();
        await context.answer(after, () => `${session.id} is ${statusText(after)}`);
        if (letsRun) await (await import('../../runs/carry-on.ts')).carryOn(context, session);
      },
    }),
);
