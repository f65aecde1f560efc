import { z } from 'zod';
import { SessionId } from '../../../schema/ids.ts';
import { RunResultView } from '../../../schema/views/session.ts';
import { refuseText } from '../../names/refuse-text.ts';
import { type Context, defineCommand } from '../../parse/command.ts';
import type { Ending } from '../../parse/exit-codes.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { newSessionOptions, openerOfNew, sessionFor } from '../../runs/new-session.ts';
import type { Person } from '../../runs/person.ts';

/**
 * Waits for the first line and returns a person whose next line it is. Returns undefined when the input ends or the
 * wait is interrupted.
 */
const beginning = async (person: Person, onInterrupt: Context['onInterrupt']): Promise<Person | undefined> => {
  const { promise: interrupted, resolve } = Promise.withResolvers<undefined>();
  const stopListening = onInterrupt(() => resolve(undefined));
  const nextLine = () => Promise.race([person.nextLine(), interrupted]);
  let first = await nextLine();
  while (first?.trim() === '') first = await nextLine();
  stopListening();
  if (first === undefined) return undefined;
  const read = [first];
  return { ...person, nextLine: async () => read.pop() ?? person.nextLine() };
};

const views: readonly z.ZodObject[] = RunResultView.options.filter(({ shape }) => shape.status.value !== 'running');
const [first, ...rest] = views.map((view) => view.omit({ usage: true }).extend({ session: SessionId }));
const outcome = z.discriminatedUnion('status', [first!, ...rest]);

export const chat = defineCommand({
  name: 'chat',
  summary: 'talk to an agent, in a new or existing session',
  args: ['[SESSION]'],
  options: newSessionOptions,
  notes: [
    'What you type during a run steers it. /help lists the other commands. Ctrl-C leaves the run to a background process, a second Ctrl-C cancels it.',
    'With --json, each line of stdin is an input, sent once the run before it has ended, or the answer to the approval or question that the run is waiting for. Each line of stdout is the result of a run, or what it is waiting for; `paused` means that it waits until the session is resumed.',
    'From a pipe or with --json, the exit code tells how the last run ended, as with send; at a terminal it is 0.',
  ],
  examples: [
    'perdure chat --cwd .',
    'perdure chat --git https://example.org/app.git  # needs that repository',
    'perdure chat ses_…',
    'cat questions.txt | perdure chat ses_… --json',
  ],
  makesStore: ({ args: [named] }) => named === undefined,
  json: outcome,
  jsonLines: true,
  run: async (
    context,
    { args: [named], options: { agent, title, from, git, ref, cwd } },
  ): Promise<Ending | undefined> => {
    if (named !== undefined) refuseText(context, named, `type it in \`${context.commandText('chat')}\``);
    const given = { agent, title, from, git, ref, cwd };
    // The input of a script may be empty, and then no session should be opened.
    const mayBeSilent = named === undefined && (context.json || context.hiddenLine === undefined);
    const session = mayBeSilent ? undefined : await sessionFor(context, named, given);
    const open = session ? async () => session : await openerOfNew(context, given);
    const chatOn = context.json
      ? (await import('../../runs/chat-lines.ts')).chatLines
      : (await import('../../runs/chat-about.ts')).chatAbout;
    const person = context.person({ anyInput: true });
    if (!person) throw wrongCall('chat needs an input to read from');
    try {
      const talking = mayBeSilent ? await beginning(person, context.onInterrupt) : person;
      if (talking) return await chatOn(context, await open(), talking);
      await context.note('nothing was said, so no session was opened');
      return undefined;
    } finally {
      person.close();
    }
  },
});
