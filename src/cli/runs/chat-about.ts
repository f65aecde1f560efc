import type { Session } from '../../core/runtime/session.ts';
import { isPerdureError } from '../../schema/error.ts';
import { nameOf } from '../config/choose-agent.ts';
import { scriptNote } from '../config/script-note.ts';
import type { Context } from '../parse/command.ts';
import type { Ending } from '../parse/exit-codes.ts';
import { wrap } from '../terminal/display-width.ts';
import { printable, printableLine } from '../terminal/printable.ts';
import { linesText } from '../terminal/terminal.ts';
import { attachTo } from './attach.ts';
import { type ChatCommand, chatCommands } from './chat-commands.ts';
import type { LiveSession } from './live-session.ts';
import type { Person } from './person.ts';

const greet = async (context: Context, session: Session): Promise<void> => {
  const { agent } = await session.summary();
  const { columns, write } = context.err;
  const lines = [
    `session ${session.id}${agent ? `, agent ${nameOf(agent)}` : ''}`,
    '/help lists the commands, Ctrl-D leaves',
  ];
  await write(linesText(lines.flatMap((line) => wrap(printableLine(line), columns))));
  const note = context.server === undefined ? scriptNote(await context.config()) : undefined;
  if (note) await context.note(note);
};

const say = async (session: Session, line: string, live: LiveSession): Promise<void> => {
  live.printer.hide(line);
  live.expect((await session.send(line, live.isBusy ? { policy: 'steer' } : {})).id);
};

/** Parses a typed line as a chat command. Returns undefined if the line is an input for the agent. */
const commandIn = (line: string): ChatCommand | undefined => {
  const [, name = '', rest = ''] = /^\/(\S*)\s*(.*?)\s*$/.exec(line) ?? [];
  const command = chatCommands[name];
  return command && { ...command, rest };
};

/** Chats in this session, and in forks made from it, until the person leaves. */
export const chatAbout = async (context: Context, first: Session, person: Person): Promise<Ending> => {
  let session = first;
  await greet(context, session);
  for (;;) {
    let next: Session | undefined;
    const talk = async (line: string | undefined, live: LiveSession): Promise<void> => {
      if (line === undefined) return live.leave();
      if (line.trim() === '') return live.promptAgain();
      try {
        if (!line.startsWith('/')) return await say(session, line.trim(), live);
        const command = commandIn(line);
        if (!command) live.printer.note('there is no such command: /help lists them', 'red');
        next = await command?.run({ context, session, rest: command.rest ?? '', live });
        if (next) return live.leave();
      } catch (error) {
        // As with `send`, a refused input ends a script. A person can type something else.
        const isScripted = !person.isTerminal && !line.startsWith('/');
        if (!isPerdureError(error) || isScripted) throw error;
        live.printer.note(printable(`${error.code}: ${error.message}`), 'red');
      }
      await live.promptAgain();
    };
    const { seq } = await session.summary();
    const isFork = session !== first;
    const ending = await attachTo(context, session, { person, talk, ...(isFork && { after: seq }) });
    if (!next) {
      const knowsHowToReturn = ending === 'detached' || !person.isTerminal;
      if (!knowsHowToReturn) await context.note(`to come back: ${context.commandText('chat', session.id)}`);
      return ending;
    }
    session = next;
  }
};
