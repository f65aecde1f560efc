import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { personAt } from '../../runs/person.ts';

const columns = Number.POSITIVE_INFINITY;
const piped = (...lines: readonly string[]) => ({
  person: () => personAt(Readable.from(lines.map((line) => `${line}\n`)), new PassThrough() as never),
  columns,
});

test.each([[[]], [['', ' ']]])('[CLIR21] a chat whose input is only %j opens no session', async (lines) => {
  const database = newMemoryDatabase();
  for (const json of [[], ['--json']]) {
    expect(await callCliOn(database, ['chat', ...json], piped(...lines))).toMatchObject({
      code: 0,
      out: '',
      err: json.length > 0 ? '' : 'nothing was said, so no session was opened\n',
    });
  }
  expect(JSON.parse((await callCliOn(database, ['ls', '--json'])).out).sessions).toEqual([]);
  const misspelt = await callCliOn(database, ['chat', '--agent', 'dmeo'], piped(...lines));
  expect(misspelt).toMatchObject({ code: 2, err: expect.stringContaining('did you mean demo?') });
});

test('[CLIR7] a chat begins with three lines: session and agent, how to get help, and a note that a script answers instead of a model', async () => {
  const database = newMemoryDatabase();
  const { err } = await callCliOn(database, ['chat'], piped('hello'));
  const [first, second, third] = err.split('\n');
  expect(first).toMatch(/^session ses_\w{26}, agent demo@1$/);
  expect(second).toBe('/help lists the commands, Ctrl-D leaves');
  expect(third).toMatch(/^the agent demo is a script, not a model: /);
});

test('[CLIR21, CLIR23] a chat whose input ends before an open question is answered prints the command that answers it', async () => {
  const database = newMemoryDatabase();
  const { code, err } = await callCliOn(database, ['chat'], piped('', 'ask me'));
  expect(code).toBe(4);
  const [, command = ''] = /it waits for an answer:\n {2}\S*perdure (answer ses_\w+ \S+) TEXT/.exec(err) ?? [];
  expect(await callCliOn(database, [...command.split(' '), 'Red'], { startDetached: () => {} })).toMatchObject({
    code: 0,
  });
});

test('[CLIR7] a chat that waits for its first line from a pipe ends at Ctrl-C and opens no session', async () => {
  const database = newMemoryDatabase();
  const onInterrupt = (listener: (how: 'interrupt') => void) => {
    setImmediate(() => listener('interrupt'));
    return () => undefined;
  };
  const person = () => personAt(new PassThrough(), new PassThrough() as never);
  expect(await callCliOn(database, ['chat'], { person, columns, onInterrupt })).toMatchObject({ code: 0 });
  expect(JSON.parse((await callCliOn(database, ['ls', '--json'])).out).sessions).toEqual([]);
});
