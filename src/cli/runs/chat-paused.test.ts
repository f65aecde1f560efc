import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { callCliOn } from '../../../test/call-cli.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { personAt } from './person.ts';

const piped = (...lines: readonly string[]) => ({
  person: () => personAt(Readable.from(lines.map((line) => `${line}\n`)), new PassThrough() as never),
});

test('[CLIR7] a chat from a pipe with a paused session says so once, and what to do', async () => {
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open', '--agent', 'demo'])).out.trim();
  await callCliOn(database, ['append', id, 'hello']);
  await callCliOn(database, ['pause', id]);
  const { code, err } = await callCliOn(database, ['chat', id], piped('hello', 'again'));
  expect(code).toBe(4);
  expect(err.split('it is paused, and what it is sent waits until it is resumed')).toHaveLength(2);
  expect(err).toContain(`perdure resume ${id}`);
});

test('[CLIR7] a program is told by a line of JSON', async () => {
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open', '--agent', 'demo'])).out.trim();
  await callCliOn(database, ['append', id, 'hello']);
  await callCliOn(database, ['pause', id]);
  const { code, out } = await callCliOn(database, ['chat', id, '--json'], piped('hello'));
  expect(code).toBe(4);
  expect(JSON.parse(out)).toEqual({ session: id, run: expect.stringMatching(/^run_/), status: 'paused' });
});
