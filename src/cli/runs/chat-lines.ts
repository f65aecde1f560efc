import type { RunResult } from '../../core/service/runs.ts';
import type { Session } from '../../core/service/session.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { Context } from '../command.ts';
import type { Ending } from '../exit-codes.ts';
import { printableJson } from '../printable.ts';
import { attachTo } from './attach.ts';
import type { LiveSession } from './live-session.ts';
import type { Person } from './person.ts';

/** What a run came to, or what it waits for. */
const outcomeIn = (event: SessionEvent): Omit<RunResult, 'run' | 'usage'> | undefined => {
  if (event.type === 'run.ended') return event.payload;
  if (event.type !== 'run.waiting' && event.type !== 'child.waiting') return undefined;
  const { for: waitingFor, reason, session: waitsIn } = event.payload;
  return waitingFor === 'model' ? undefined : { status: 'waiting', waitingFor, reason, waitsIn };
};

/** A chat for programs: every line that is read is an input, or answers what is asked; every outcome is a line of JSON. */
export const chatLines = async (context: Context, session: Session, person: Person): Promise<Ending> => {
  const { seq } = await session.summary();
  const write = (outcome: object): Promise<void> =>
    context.out.write(`${printableJson({ session: session.id, ...outcome })}\n`);
  const show = async (event: SessionEvent): Promise<void> => {
    const outcome = outcomeIn(event);
    if (outcome) await write({ run: event.run, ...outcome });
  };
  const talk = async (line: string | undefined, live: LiveSession): Promise<void> => {
    if (line === undefined) return live.leave();
    if (line.trim() === '') return;
    const run = (await session.send(line.trim())).id;
    live.expect(run);
    if ((await session.summary()).status === 'paused') await write({ run, status: 'paused' });
  };
  const program = { ...person, isTerminal: false, prompt: () => {} };
  return attachTo(context, session, { person: program, talk, show, after: seq });
};
