import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { memoryCommandLine } from '../../../../test/support/cli/command-line.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { personAt } from '../../runs/person.ts';

test('[CLIR14] send --new and chat can give a new session a title', async () => {
  const database = newMemoryDatabase();
  const person = () => personAt(Readable.from(['hello\n']), new PassThrough() as never);
  const cli = (...argv: readonly string[]) =>
    callCliOn(database, argv, { person, startDetached: () => {}, columns: Number.POSITIVE_INFINITY });
  expect(await cli('chat', '--title', 'A talk')).toMatchObject({ code: 0 });
  expect(await cli('send', '--new', 'hello', '--title', 'An errand', '--detach')).toMatchObject({ code: 0 });
  const { sessions } = JSON.parse((await cli('ls', '--json')).out);
  expect(sessions.map(({ title }: { title: string }) => title)).toEqual(['An errand', 'A talk']);
  for (const argv of [
    ['chat', sessions[0].id],
    ['send', sessions[0].id, 'hello'],
  ]) {
    expect(await cli(...argv, '--title', 'Another')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--title is for a new session: `perdure title` gives this one another'),
    });
  }
});

test('[CLIR14, CLI18] a title that is too long is refused before a store is opened', async () => {
  const openRuntime = () => Promise.reject(new Error('the store was opened'));
  for (const argv of [['send', '--new', 'hello'], ['chat'], ['open']]) {
    const title = 'x'.repeat(501);
    expect(await callCliOn(newMemoryDatabase(), [...argv, '--title', title], { openRuntime })).toMatchObject({
      code: 2,
      err: expect.stringContaining('--title: '),
    });
  }
});

test('[CLIR14] title changes or removes the title of a session', async () => {
  const { call, said, answered } = memoryCommandLine();
  const { id } = await answered(['open', '--title', 'First', '--metadata', '{"ticket":12}']);
  expect(await said(['title', id, 'Second\u001b[2J'])).toBe(`${id} has the title Second\\x1b[2J\n`);
  expect(await answered(['title', '-', 'Third'])).toMatchObject({ id, title: 'Third', metadata: { ticket: 12 } });
  expect(await said(['ls'])).toMatch(/ {2}Third\n$/);
  expect(await call(['title', id, 'x'.repeat(501)])).toMatchObject({ code: 2 });
  expect(await said(['title', id, ''])).toBe(`${id} has no title\n`);
  expect(await said(['show', id])).not.toContain('Third');
});
