import { expect, test } from 'vitest';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { defineAgent } from '../../../core/session/agent.ts';
import { defineScript } from '../../../models/script.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { demoAgent } from '../../config/demo-agent.ts';
import { displayWidth } from '../../terminal/display-width.ts';

const failing = defineAgent({
  name: 'failing',
  version: 1,
  model: defineScript({ name: 'failing', steps: [{ calls: [{ tool: 'none', input: {} }] }] }),
  policies: { maxSteps: 1 },
});

const start = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({
    store: openMemoryStore(database),
    agents: [demoAgent, failing],
    worker: false,
  });
  const cli = (argv: readonly string[], columns = Number.POSITIVE_INFINITY) =>
    callCliOn(database, argv, { columns, now: () => 2_000_000_000_000 });
  const archived = async (title: string) => {
    const session = await runtime.sessions.open({ title });
    await session.close();
    await session.archive();
    return session;
  };
  const ids = async (...argv: readonly string[]): Promise<readonly string[]> =>
    JSON.parse((await cli(['ls', '--json', ...argv])).out).sessions.map(({ id }: { id: string }) => id);
  return { runtime, cli, archived, ids };
};

test('[CLI15] ls shows what runs wait for, in a column that appears only if some run waits', async () => {
  const { runtime, cli } = await start();
  const plain = await runtime.sessions.open({ title: 'Plain' });
  expect((await cli(['ls'])).out).not.toContain('WAITS FOR');
  const [asking, deleting] = [
    await runtime.sessions.open({ agent: demoAgent, title: 'Asking' }),
    await runtime.sessions.open({ agent: demoAgent, title: 'Deleting' }),
  ];
  await asking.send('ask me');
  await deleting.send('delete it');
  await runtime.worker().runUntilIdle();
  const { out } = await cli(['ls']);
  expect(out).toMatch(/^SESSION +STATUS +WAITS FOR +TURNS +MESSAGES +AGE +FOR +TITLE\n/);
  expect(out).toMatch(new RegExp(`^${asking.id} +active +question +1 .*Which colour.* +Asking$`, 'm'));
  expect(out).toMatch(new RegExp(`^${deleting.id} +active +approval +1 .*shell .* +Deleting$`, 'm'));
  expect(out).toMatch(new RegExp(`^${plain.id} +open +0 .*Plain$`, 'm'));
  const narrow = (await cli(['ls'], 40)).out;
  expect(narrow).toMatch(/active +approval +Deleting\n/);
  for (const line of narrow.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(40);
});

test('[CLI15] archived sessions are listed with --all or by status, and ls says when it leaves them out', async () => {
  const { runtime, cli, archived, ids } = await start();
  const { id: away } = await archived('Away');
  const text = '1 archived session is not shown: `perdure ls --all` shows all\n';
  expect(await cli(['ls'])).toMatchObject({ code: 0, out: 'every session is archived\n', err: text });
  const { id: here } = await runtime.sessions.open({ title: 'Here' });
  const listed = await cli(['ls']);
  expect(listed).toMatchObject({ code: 0, out: expect.not.stringContaining(away), err: text });
  expect(listed.out).toContain(here);
  expect(await ids()).toEqual([here]);
  expect(await ids('--status', 'archived')).toEqual([away]);
  expect(await ids('--all')).toEqual([here, away]);
  for (const argv of [['--all'], ['--status', 'archived'], ['--status', 'open'], ['--json']]) {
    expect(await cli(['ls', ...argv])).toMatchObject({ code: 0, err: '' });
  }
  for (let made = 1; made <= 100; made++) await archived(`Away ${made}`);
  expect((await cli(['ls'])).err).toMatch(/^more than 100 archived sessions are not shown/);
});

test('[CLI15, CLI7] archived sessions do not use up the page size of ls, but can be named, verified and offered as completions', async () => {
  const { runtime, cli, archived, ids } = await start();
  const { id: first } = await runtime.sessions.open();
  const { id: away } = await archived('Away');
  const { id: second } = await runtime.sessions.open();
  const { id: last } = await archived('Last');
  const page = await cli(['ls', '--limit', '1']);
  expect(page.err).toBe('there are more: `perdure ls --all` lists them, archived ones too\n');
  const { sessions, cursor } = JSON.parse((await cli(['ls', '--limit', '1', '--json'])).out);
  expect(sessions).toMatchObject([{ id: second }]);
  expect(await ids('--limit', '1', '--cursor', cursor)).toEqual([first]);
  expect((await cli(['ls', '--limit', '1', '--cursor', cursor])).err).toMatch(/^2 archived sessions are not shown/);
  expect((await cli(['show', '-'])).out).toContain(second);
  expect((await cli(['show', away.slice(-8)])).out).toContain(away);
  expect((await cli(['verify', '--all'])).out).toContain('4 sessions, all sound');
  expect((await cli(['complete', 'sessions'])).out).toContain(last);
});

test('[VIEW9, VIEW10] ls names untitled sessions by their first words, and shows failed last runs and the progress of plans', async () => {
  const { runtime, cli } = await start();
  const untitled = await runtime.sessions.open();
  await untitled.append({ role: 'user', content: 'Why is\n the sky blue?' });
  expect((await cli(['ls'])).out).toMatch(new RegExp(`^${untitled.id} .*Why is the sky blue\\?$`, 'm'));
  expect((await cli(['ls'])).out).not.toMatch(/PLAN|LAST RUN|FOR/);
  await untitled.commit((draft) => {
    draft.plan.a = { step: 'look up', status: 'done', order: 1 };
    draft.plan.b = { step: 'answer', status: 'todo', order: 2 };
  });
  const limited = await runtime.sessions.open({ agent: demoAgent, title: 'Limited', budget: { turns: 0 } });
  await limited.send('hello');
  await runtime.worker().runUntilIdle();
  const { out } = await cli(['ls']);
  expect(out).toMatch(new RegExp(`^${untitled.id} .* 1/2 .*Why is the sky blue\\?$`, 'm'));
  expect(out).toMatch(new RegExp(`^${limited.id} +active +budget .*turns.* Limited$`, 'm'));
});

test('[VIEW10] ls shows that the last run failed, until there is a newer input', async () => {
  const { runtime, cli } = await start();
  const session = await runtime.sessions.open({ agent: failing, title: 'Fails' });
  await session.send('hello');
  await runtime.worker().runUntilIdle();
  expect((await cli(['ls'])).out).toMatch(new RegExp(`^${session.id} +active +failed MAX_STEPS .*Fails$`, 'm'));
  await session.send('again');
  expect((await cli(['ls'])).out).not.toContain('LAST RUN');
});

test('[SEE7] ls --include-private lists private sessions of others, and the audit log says so', async () => {
  const { runtime, ids } = await start();
  const { id } = await runtime.as({ workspace: 'local', member: 'ada' }).sessions.open({ visibility: 'private' });
  expect(await ids()).toEqual([]);
  expect(await ids('--include-private')).toEqual([id]);
  expect(await ids('--include-private', '--all')).toEqual([id]);
  expect((await runtime.audit.list()).entries.map(({ verb }) => verb)).toContain('sessions.list');
});
