import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import { PerdureError } from '../../../schema/error.ts';
import { mediaTypeOf } from '../../../schema/media-type.ts';
import { inputPolicies } from '../../../schema/run.ts';
import { EventView } from '../../../schema/views/event.ts';
import { RunView } from '../../../schema/views/session.ts';
import { refuseText } from '../../names/refuse-text.ts';
import { type Call, type Context, choice, defineCommand, flag, text, texts } from '../../parse/command.ts';
import { parseDeadline } from '../../parse/moment.ts';
import { readText } from '../../parse/read-input.ts';
import { fileError, wrongCall } from '../../parse/wrong-call.ts';
import { newSessionOptions, sessionFor } from '../../runs/new-session.ts';

const options = {
  new: flag('open a session for it'),
  ...newSessionOptions,
  policy: choice('POLICY', inputPolicies, `if a run is already going: ${inputPolicies.join(', ')}`),
  key: text('KEY', 'idempotency key: the same input with the same key is admitted only once'),
  'not-before': text(
    'WHEN',
    'start then, and return now: 2026-03-01T09:30, or 2h from now; needs a worker at that time',
  ),
  file: texts('FILE', 'a file to send with it'),
  detach: flag('leave the run to a background process and return at once'),
};

const maxFileBytes = 11 * 1024 * 1024;

const filePart = async (path: string) => {
  try {
    const { size } = await stat(path);
    if (size > maxFileBytes) {
      throw new PerdureError(
        'PAYLOAD_TOO_LARGE',
        `${path} has ${size} bytes, but at most ${maxFileBytes} can be sent`,
        {
          details: { size, maxBytes: maxFileBytes },
        },
      );
    }
    const bytes = await readFile(path);
    return {
      type: 'file' as const,
      name: basename(path),
      mediaType: mediaTypeOf(path, bytes),
      data: bytes.toString('base64'),
    };
  } catch (error) {
    throw fileError(error, 'read', path);
  }
};

interface GivenInput {
  readonly named: string | undefined;
  readonly content: string;
  readonly isFromStdin: boolean;
}

/** Reads the session and the text from the arguments. With --new there is no session to name. */
const inputOf = async (context: Context, { args, options: given }: Call<typeof options>): Promise<GivenInput> => {
  const [named, words, ...more] = given.new ? [undefined, ...args] : args;
  if (more.length > 0) throw wrongCall('with --new there is only TEXT: leave out SESSION (quote text with spaces)');
  if (!given.new && named === undefined) throw wrongCall('send needs SESSION, or --new: see `perdure help send`');
  if (words === undefined && named !== undefined) refuseText(context, named, 'name one before it');
  if (words === undefined && !given.file) throw wrongCall('send needs TEXT, - to read it from stdin, or --file FILE');
  const content = words === '-' ? (await readText(context.stdin())).replace(/\r?\n$/, '') : (words ?? '');
  if (content === '' && !given.file) throw wrongCall('the text is empty');
  return { named, content, isFromStdin: words === '-' };
};

export const send = defineCommand({
  name: 'send',
  summary: 'send an input to a session and follow the run that answers it',
  args: ['[SESSION]', '[TEXT]'],
  options,
  notes: [
    'If TEXT is -, it is read from stdin. Answers go to stdout, everything else to stderr. In a pipe, stdout gets the final answer only; with --json, each line of stdout is an event.',
    'Ctrl-C leaves the run to a background process, a second Ctrl-C cancels it. Exit codes: 0 succeeded, 1 failed, 3 cancelled, 4 waiting for a person or paused, 130 left.',
  ],
  examples: [
    `perdure send --new 'Fix the failing test' --cwd .`,
    `perdure send --new 'Which ports are open?' --title 'Ports'`,
    `perdure send ses_… 'Look at this' --file log.txt --detach`,
    'git diff | perdure send ses_… - --key review-1',
  ],
  makesStore: ({ options: given }) => given.new ?? false,
  json: z.union([EventView, RunView.extend({ status: z.literal('paused').optional() })]),
  jsonLines: true,
  run: async (context, call) => {
    const { key, policy, detach, file, agent, title, from, git, ref, cwd } = call.options;
    const notBefore = parseDeadline('--not-before', call.options['not-before'], Date.now());
    const { named, content, isFromStdin } = await inputOf(context, call);
    const files = await Promise.all((file ?? []).map(filePart));
    const session = await sessionFor(context, named, { agent, title, from, git, ref, cwd });
    const parts = [...(content === '' ? [] : [{ type: 'text' as const, text: content }]), ...files];
    const run = await session.send(parts, { policy, idempotencyKey: key, notBefore });
    if (detach || notBefore !== undefined) {
      const isPaused = (await session.summary()).status === 'paused';
      if (notBefore === undefined && !isPaused) context.startWorker(session);
      const admitted = { session: session.id, run: run.id, ...(isPaused && { status: 'paused' as const }) };
      await context.answer(admitted, () => [session.id, run.id]);
      if (!isPaused) return undefined;
      const { stepsOfPaused } = await import('../../runs/next-steps.ts');
      for (const step of stepsOfPaused(context, session)) await context.note(step);
      return 'waiting';
    }
    if (named === undefined) await context.note(session.id);
    const [admitted] = await Array.fromAsync(firstOf(run.events()));
    const { attachTo } = await import('../../runs/attach.ts');
    const person = isFromStdin ? undefined : context.person();
    try {
      return await attachTo(context, session, {
        after: admitted!.seq - 1,
        target: run.id,
        typed: content,
        person,
      });
    } finally {
      person?.close();
    }
  },
});

async function* firstOf<T>(all: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const each of all) return void (yield each);
}
