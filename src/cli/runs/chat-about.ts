import type { Session } from '../../core/service/session.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { Context } from '../command.ts';
import type { Ending } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import { attachTo } from './attach.ts';
import { type ChatCommand, chatCommands } from './chat-commands.ts';
import type { Conversation } from './follow-live.ts';
import type { Person } from './person.ts';

const greeting = (context: Context, session: Session, isDemo: boolean): string =>
  [
    `${session.id}: /help lists what can be typed.`,
    ...(isDemo ? ['There is no perdure.config.ts here: demo is a script, not a model.'] : []),
    `To come back: ${context.commandText('chat', session.id)}`,
  ].join(' ');

const say = async (session: Session, line: string, { view, expect, printer }: Conversation): Promise<void> => {
  const { run, queue } = view();
  const isBusy = run !== undefined || queue.length > 0;
  printer.hide(line);
  expect((await session.send(line, isBusy ? { policy: 'steer' } : {})).id);
};

/** What was typed: a command, or an input for the agent. */
const commandIn = (line: string): ChatCommand | undefined => {
  const [, name = '', rest = ''] = /^\/(\S*)\s*(.*?)\s*$/.exec(line) ?? [];
  const command = chatCommands[name];
  return command && { ...command, rest };
};

/** Goes on, in this session and in those that are forked from it, until whoever types leaves. */
export const chatAbout = async (context: Context, first: Session, person: Person): Promise<Ending> => {
  let session = first;
  await context.note(greeting(context, session, !(await context.config()).file));
  for (;;) {
    let next: Session | undefined;
    const talk = async (line: string | undefined, conversation: Conversation): Promise<void> => {
      if (line === undefined) return conversation.leave();
      if (line.trim() === '') return person.prompt('you: ');
      try {
        if (!line.startsWith('/')) return await say(session, line.trim(), conversation);
        const command = commandIn(line);
        if (!command) conversation.printer.note('there is no such command: /help lists them', 'red');
        next = await command?.run({ context, session, rest: command.rest ?? '', conversation });
        if (next) return conversation.leave();
      } catch (error) {
        if (!isPerdureError(error)) throw error;
        conversation.printer.note(printable(`${error.code}: ${error.message}`), 'red');
      }
      await conversation.printer.settled;
      person.prompt('you: ');
    };
    const { seq } = await session.summary();
    const isFork = session !== first;
    const ending = await attachTo(context, session, { person, talk, ...(isFork && { after: seq }) });
    if (!next) return ending;
    session = next;
  }
};
