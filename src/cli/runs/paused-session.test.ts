import { expect, test } from 'vitest';
import { callCliOn } from '../../../test/support/cli/call-cli.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';

const resumeHint = (id: string): string =>
  `it is paused, and inputs wait until it is resumed:\n  perdure resume ${id} --store memory\n`;

/** A paused session: a fork made in the middle of a turn. */
const startPaused = async () => {
  const database = newMemoryDatabase();
  const call = (...args: readonly string[]) => callCliOn(database, args, { columns: Number.POSITIVE_INFINITY });
  const parent = (await call('open', '--agent', 'demo')).out.trim();
  await call('append', parent, 'hello');
  return { call, id: (await call('fork', parent)).out.trim() };
};

test('[CLIR18, CLIR28] send --detach to a paused session exits with 4 and prints the next command', async () => {
  const { call, id } = await startPaused();
  for (const left of [['--detach'], ['--not-before', '2h']]) {
    const { code, out, err } = await call('send', id, 'hello', ...left);
    expect({ code, err }).toEqual({ code: 4, err: resumeHint(id) });
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

test('[CLIR2, CLIR4] attach to a session paused in the middle of a turn exits with 4, with and without waiting inputs', async () => {
  const { call, id } = await startPaused();
  expect(await call('attach', id)).toMatchObject({ code: 4, err: resumeHint(id) });
  await call('send', id, 'hello', '--detach');
  expect(await call('attach', id)).toMatchObject({ code: 4, err: expect.stringContaining(resumeHint(id)) });
});

test('[CLIR4] attach to a session paused after its run reports how the run ended', async () => {
  const { call, id } = await startPaused();
  await call('resume', id);
  expect(await call('send', id, 'hello')).toMatchObject({ code: 0 });
  await call('pause', id);
  expect(await call('attach', id)).toMatchObject({ code: 0, err: expect.stringContaining(resumeHint(id)) });
});
