import type { Session } from '../../core/runtime/session.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RunResult } from '../../schema/run-result.ts';
import type { Context } from '../parse/command.ts';
import type { Ending } from '../parse/exit-codes.ts';
import { printableJson } from '../terminal/printable.ts';
import { attachTo } from './attach.ts';
import type { LiveSession } from './live-session.ts';
import type { Person } from './person.ts';
import type { RunsView } from './runs-view.ts';

type WithoutRun<Result> = Result extends RunResult ? Omit<Result, 'run' | 'usage'> : never;
type Outcome = { readonly run: RunId | undefined } & WithoutRun<RunResult>;

const paused = (run: RunId): Outcome => ({ run, status: 'paused' });

/**
 * Outcomes of runs that an event reports. A pause is an outcome of every open run, and of each input sent during it.
 */
const outcomesIn = (event: SessionEvent, view: RunsView): readonly Outcome[] => {
  switch (event.type) {
    case 'run.ended':
      return [{ run: event.run, ...event.payload }];
    case 'run.waiting':
    case 'child.waiting': {
      const { for: waitingFor, reason, session: waitsIn } = event.payload;
      return waitingFor === 'model' ? [] : [{ run: event.run, status: 'waiting', waitingFor, reason, waitsIn }];
    }
    case 'session.paused':
      return [...(view.run ? [view.run.id] : []), ...view.queue.map(({ run }) => run)].map(paused);
    case 'input.admitted':
      return view.status === 'paused' ? [paused(event.payload.run)] : [];
    default:
      return [];
  }
};

/**
 * A chat for programs. Every input line is an input or the answer to a prompt, and every outcome is written as a line
 * of JSON.
 */
export const chatLines = async (context: Context, session: Session, person: Person): Promise<Ending> => {
  const { seq } = await session.summary();
  const show = async (event: SessionEvent, view: RunsView): Promise<void> => {
    for (const outcome of outcomesIn(event, view))
      await context.out.write(`${printableJson({ session: session.id, ...outcome })}\n`);
  };
  const talk = async (line: string | undefined, live: LiveSession): Promise<void> => {
    if (line === undefined) return live.leave();
    if (line.trim() === '') return;
    live.expect((await session.send(line.trim())).id);
  };
  const program = { ...person, isTerminal: false, prompt: () => {} };
  return attachTo(context, session, { person: program, talk, show, after: seq });
};
