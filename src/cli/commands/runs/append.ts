import { z } from 'zod';
import type { SessionEvent } from '../../../schema/event.ts';
import type { MessageInput } from '../../../schema/message.ts';
import type { ReportedFiles } from '../../../schema/reported-files.ts';
import { EventView } from '../../../schema/views/event.ts';
import { type Call, type Context, choice, defineCommand, flag, text } from '../../parse/command.ts';
import { parseJson, parseJsonLines, readText } from '../../parse/read-input.ts';
import { wrongCall } from '../../parse/wrong-call.ts';

const roles = ['user', 'assistant', 'system'] as const;

const options = {
  role: choice('ROLE', roles, 'user (default, starts a turn), assistant or system; use --jsonl for messages of tools'),
  key: text('KEY', 'idempotency key: repeating the append with the same key writes nothing'),
  files: text('JSON', 'the files that each call changed, by call id: {"call_1":{"src/a.ts":"modified"}}'),
  jsonl: flag('read messages from stdin, one JSON object per line, and append them all at once'),
};

const messagesFrom = async (
  { stdin }: Context,
  { args: [, content], options: { role, jsonl } }: Call<typeof options>,
): Promise<readonly MessageInput[]> => {
  if (jsonl) {
    if (content !== undefined || role !== undefined) {
      throw wrongCall('with --jsonl the messages come from stdin: leave out TEXT and --role');
    }
    return parseJsonLines(await readText(stdin())) as readonly MessageInput[];
  }
  if (content === undefined) throw wrongCall('append needs TEXT, - to read it from stdin, or --jsonl');
  const given = content === '-' ? (await readText(stdin())).replace(/\r?\n$/, '') : content;
  if (given === '') throw wrongCall('the text is empty: give some text to append');
  return [{ role: role ?? 'user', content: given }];
};

const appended = (events: readonly SessionEvent[]): string => {
  const [first, last] = [events[0]!, events.at(-1)!];
  const range = events.length === 1 ? `event ${first.seq}` : `events ${first.seq} to ${last.seq}`;
  return `appended ${range} of ${last.session}, turn ${last.turn}`;
};

export const append = defineCommand({
  name: 'append',
  summary: 'append a message, or several at once',
  args: ['SESSION', '[TEXT]'],
  options,
  notes: ['If TEXT is -, it is read from stdin, without its final newline.'],
  examples: [
    `perdure append ses_… 'Fix the failing test'`,
    'git diff | perdure append ses_… - --role user --key review-1',
    `echo '{"role":"assistant","content":"Done."}' | perdure append ses_… --jsonl`,
  ],
  json: z.strictObject({ events: z.array(EventView) }),
  run: async (context, call) => {
    const messages = await messagesFrom(context, call);
    const session = await context.session(call.args[0]!);
    const { key, files } = call.options;
    const events = await session.append(messages, {
      ...(key !== undefined && { idempotencyKey: key }),
      ...(files !== undefined && { files: parseJson('--files', files) as ReportedFiles }),
    });
    await context.answer({ events }, () => appended(events));
  },
});
