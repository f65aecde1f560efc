import { expect, test } from 'vitest';
import { memoryCommandLine } from '../../../test/support/cli/command-line.ts';
import { findId } from './find-id.ts';

const idOf = async (answered: (args: readonly string[]) => Promise<{ id: string }>, title: string): Promise<string> =>
  (await answered(['open', '--title', title])).id;

test('[CLI7] a session is named by its id, by a prefix or suffix of its id, or by - for the most recently changed one', async () => {
  const { call, answered } = memoryCommandLine();
  expect(await call(['show', '-'])).toMatchObject({
    code: 5,
    err: expect.stringContaining('`perdure open` makes one'),
  });
  const [first, second] = [await idOf(answered, 'First'), await idOf(answered, 'Second')];
  const shown = async (named: string) => (await answered(['show', named])).summary.id;
  for (const named of [first, first.slice(-4), first.slice(-8), first.slice(0, -1), first.slice(4, -1)]) {
    expect(await shown(named), named).toBe(first);
  }
  expect(await shown('-')).toBe(second);
  await answered(['append', first, 'hello']);
  expect(await shown('-')).toBe(first);
  expect((await call(['append', '-', '-'], { stdin: 'from stdin' })).out).toContain(first);
  const diff = await answered(['diff', '-', '0', `ses_${second.slice(-5)}`]);
  expect(diff.to.session).toBe(second);
  await answered(['fork', '-', '--title', 'A fork']);
  expect((await answered(['show', '-'])).summary).toMatchObject({ title: 'A fork', parent: first });
});

test('[CLI19] any unique prefix of an id names a session, even one letter', async () => {
  const { call, answered } = memoryCommandLine();
  const first = await idOf(answered, 'First');
  for (const named of ['ses_0', '0', first.slice(4, 7), first.slice(0, 7)]) {
    expect((await answered(['show', named])).summary.id, named).toBe(first);
  }
  expect((await answered(['diff', '-', '0', first.slice(4, 7)])).to.session).toBe(first);
  await idOf(answered, 'Second');
  expect(await call(['show', '0'])).toMatchObject({ code: 2, err: expect.stringContaining('fits several: ses_0') });
});

test('[CLI20] - skips archived sessions as long as there is another one', async () => {
  const { answered } = memoryCommandLine();
  const [first, second] = [await idOf(answered, 'First'), await idOf(answered, 'Second')];
  const shown = async () => (await answered(['show', '-'])).summary.id;
  for (const [id, next] of [
    [second, first],
    [first, first],
  ] as const) {
    await answered(['close', id]);
    expect(await shown()).toBe(id);
    await answered(['archive', id]);
    expect(await shown()).toBe(next);
    expect((await answered(['unarchive', '-'])).id).toBe(id);
    await answered(['archive', id]);
  }
});

test('[CLI7, CLI19, CLI8] an ambiguous name lists its matches, an unknown name says where to look, and a suffix needs four characters', async () => {
  const { call, answered } = memoryCommandLine();
  const ids = [await idOf(answered, 'First'), await idOf(answered, 'Second')];
  const several = await call(['close', ids[0]!.slice(0, 10)]);
  expect(several).toMatchObject({ code: 2, err: expect.stringMatching(/fits several: .*give more characters/) });
  for (const [index, title] of ['First', 'Second'].entries()) expect(several.err).toContain(`${ids[index]} (${title})`);
  for (const named of ['7zzzzzzz', 'nope', 'NOPE', 'ses_nonsense', 'ses_x', 'yes']) {
    expect(await call(['show', named])).toMatchObject({ code: 5, err: expect.stringContaining('`perdure ls`') });
  }
  expect(await call(['show', `z${ids[0]!.slice(-2)}`])).toMatchObject({
    code: 5,
    err: expect.stringContaining('an end takes 4 characters'),
  });
  for (const named of ['ses_', 'my session', 'no-session', ids[0]!.replace('ses_', 'run_')]) {
    expect(await call(['show', named])).toMatchObject({ code: 2, err: expect.stringContaining('names no session') });
  }
});

test('[CLI7] keys, webhooks and approvals can be named by a prefix or suffix of their id too', async () => {
  const { call, answered } = memoryCommandLine();
  const { key } = await answered(['keys', 'create']);
  expect(await answered(['keys', 'revoke', key.id.slice(-5)])).toMatchObject({ id: key.id });
  const { webhook } = await answered(['webhooks', 'add', 'https://example.org/hooks']);
  expect(await answered(['webhooks', 'disable', webhook.id.slice(-5)])).toMatchObject({ id: webhook.id });
  expect(await call(['approve', '7zzzzzzz'])).toMatchObject({
    code: 5,
    err: expect.stringContaining('perdure approvals'),
  });
  expect(await call(['keys', 'rotate', '7zzzzzzz'])).toMatchObject({ code: 5 });
});

test('[CLI7] the search reads no further ids once a name is known to be ambiguous', async () => {
  let looked = 0;
  const among = async function* () {
    for (;;) yield { id: `x_0000${looked++}` };
  };
  const kind = {
    noun: 'x',
    prefix: 'x_',
    isWhole: () => false,
    notFound: 'FILE_NOT_FOUND',
    listing: 'ls',
    among,
  } as const;
  await expect(findId(kind, '0000')).rejects.toThrow('and more; give more characters');
  expect(looked).toBeLessThan(10);
});

test('[CLI19, LIST3] a part of an id finds any session, not only those that changed last', async () => {
  const { answered, inLibrary } = memoryCommandLine();
  const oldest = await idOf(answered, 'Oldest');
  await inLibrary(async (sessions) => {
    for (let opened = 0; opened < 1_200; opened++) await sessions.open();
  });
  expect((await answered(['show', oldest.slice(-12)])).summary.id).toBe(oldest);
});
