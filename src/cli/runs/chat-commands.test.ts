import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { callCliOn } from '../../../test/support/cli/call-cli.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { displayWidth } from '../terminal/display-width.ts';
import { chatCommands } from './chat-commands.ts';
import { personAt } from './person.ts';

test.each([40, 60, 80])('[CLI14] the help of a chat lists all its commands within %i columns', async (columns) => {
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open', '--agent', 'demo'])).out.trim();
  const person = () => personAt(Readable.from(['/help\n', '/quit\n']), new PassThrough() as never);
  const { out } = await callCliOn(database, ['chat', id], { columns, person });
  const lines = out.trimEnd().split('\n');
  for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
  const words = (text: string) => text.split(/\s+/).filter(Boolean);
  expect(words(out)).toEqual(Object.values(chatCommands).flatMap(({ usage, about }) => words(`${usage} ${about}`)));
});
