import { expect, test } from 'vitest';
import { callCliOn } from '../../../test/support/cli/call-cli.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';

const told = (id: string): string =>
  `it is paused, and inputs wait until it is resumed:\n  perdure resume ${id} --store memory\n`;

/** A fork in the middle of a turn. */
const startPaused = async () => {
  const database = newMemoryDatabase();
  const call = (...args: readonly string[]) => callCliOn(database, args, { columns: Number.POSITIVE_INFINITY });
  const parent = (await call('open', '--agent', 'demo')).out.trim();
  await call('append', parent, 'hello');
  return { call, id: (await call('fork', parent)).out.trim() };
};

test('[CLIR2] what is sent to a paused session and left to others ends with 4, and the command to type next', async () => {
  const { call, id } = await startPaused();
  for (const left of [['--detach'], ['--not-before', '2h']]) {
    const { code, out, err } = await call('send', id, 'hello', ...left);
    expect({ code, err }).toEqual({ code: 4, err: told(id) });
    expect(out).toMatch(new RegExp(`^${id}\nrun_\\w+\n$`));
  }
  const { code, out } = await call('send', id, 'hello', '--detach', '--json');
  expect({ code, ...JSON.parse(out) }).toEqual({
    code: 4,
    session: id,
    run: expect.stringMatching(/^run_/),
    status: 'paused',
  });
});

test('[CLIR2, CLIR4] attach to a session that is paused in the middle of a turn ends with 4, whether an input waits or not', async () => {
  const { call, id } = await startPaused();
  expect(await call('attach', id)).toMatchObject({ code: 4, err: told(id) });
  await call('send', id, 'hello', '--detach');
  expect(await call('attach', id)).toMatchObject({ code: 4, err: expect.stringContaining(told(id)) });
});

test('[CLIR4] attach to a session that was paused after its run tells how that ended', async () => {
  const { call, id } = await startPaused();
  await call('resume', id);
  expect(await call('send', id, 'hello')).toMatchObject({ code: 0 });
  await call('pause', id);
  expect(await call('attach', id)).toMatchObject({ code: 0, err: expect.stringContaining(told(id)) });
});
