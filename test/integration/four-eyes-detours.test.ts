import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, type Identity, openRuntime, type Session } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { subagent } from '../../src/tools/index.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const deploy = defineTool({
  name: 'deploy',
  input: z.object({}),
  approval: { notRequester: true },
  execute: () => 'deployed',
});
const deploys = { calls: [{ tool: 'deploy', input: {} }] };
const done = { text: 'Done.' };

const start = async () => {
  const steps = Array.from({ length: 6 }, () => [deploys, done]).flat();
  const helper = defineAgent({ name: 'helper', model: defineScript({ name: 'helper', steps }), tools: [deploy] });
  const boss = defineAgent({
    name: 'boss',
    model: defineScript({ name: 'boss', steps: [{ calls: [{ tool: 'helper', input: { task: 'Do it' } }] }, done] }),
    tools: [subagent(helper)],
  });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [helper, boss], worker: false });
  undo.push(() => runtime.close());
  const as = (member: string, more: Partial<Identity> = {}) =>
    runtime.as({ workspace: 'acme', member, role: 'admin', ...more });
  await as('worker').worker().start();
  const sessionOf = async (member: string, { id }: Pick<Session, 'id'>) => as(member).sessions.get(id);
  const pending = async () => as('ann').approvals.list();
  const opened = async () => {
    await expect.poll(pending, { timeout: 10_000 }).toHaveLength(1);
    return (await pending())[0]!;
  };
  const refuses = async (answering: Promise<unknown>) =>
    expect(answering).rejects.toMatchObject({ code: 'APPROVAL_FORBIDDEN' });
  /** Bob is refused; Cid denies the call, which ends the run. */
  const refusesBob = async () => {
    const { id } = await opened();
    await refuses(as('bob').approvals.approve(id));
    await as('cid').approvals.deny(id);
    await expect.poll(pending).toHaveLength(0);
  };
  return { as, helper, boss, sessionOf, opened, refuses, refusesBob };
};

test('[APPR6] a token that names only the session of a subagent does not hide words to its caller', async () => {
  const { as, boss, sessionOf, opened, refuses } = await start();
  const session = await as('ann').sessions.open({ agent: boss });
  await (await sessionOf('bob', session)).append({ role: 'user', content: 'Deploy it for me.' });
  await session.send('Go');
  const { id, session: child } = await opened();
  expect(child).not.toBe(session.id);
  await refuses(as('bob').approvals.approve(id));
  await refuses(as('bob', { sessions: [child] }).approvals.approve(id));
});

test('[APPR6] the author of an input that is retried twice has asked for it', async () => {
  const { as, helper, sessionOf, refusesBob } = await start();
  const session = await as('ann').sessions.open({ agent: helper });
  const first = await (await sessionOf('bob', session)).send('Deploy it for me.');
  await refusesBob();
  await first.waitForEnd();
  const second = await session.retry({ turn: 1, again: true });
  await refusesBob();
  await second.run!.waitForEnd();
  const { turn } = await session.summary();
  const third = await session.retry({ turn, again: true });
  await refusesBob();
  await third.run!.waitForEnd();
});

test('[APPR6] a fork does not hide the members whose state a new session carries over', async () => {
  const { as, helper, sessionOf, refusesBob } = await start();
  const source = await as('ann').sessions.open({ agent: helper });
  await (await sessionOf('bob', source)).commit(({ facts }) => void Object.assign(facts, { port: { value: 1 } }));
  const run = await source.send('Go');
  await refusesBob();
  await run.waitForEnd();
  const fork = await source.fork();
  const session = await as('ann').sessions.open({ agent: helper, carryFrom: fork });
  await session.send('Go');
  await refusesBob();
});

test('[APPR8] an artifact that a new session carries over brings its contributors, also without any state', async () => {
  const { as, helper, sessionOf, refusesBob } = await start();
  const source = await as('ann').sessions.open();
  await (await sessionOf('bob', source)).artifacts.keep('plan.md', 'Deploy it for me.');
  const session = await as('ann').sessions.open({ agent: helper, carryFrom: source });
  await session.send('Go');
  await refusesBob();
});

test('[APPR7] the member who imports a session has brought its words', async () => {
  const elsewhere = await start();
  const other = await elsewhere.as('ann').sessions.open({ agent: elsewhere.helper });
  await other.append({ role: 'user', content: 'Deploy it for Bob.' });
  const bundle = await Array.fromAsync(other.export());
  const { as, sessionOf, refusesBob } = await start();
  await as('bob').sessions.import(
    (async function* () {
      yield* bundle;
    })(),
  );
  const session = await sessionOf('ann', other);
  await session.send('Go on');
  await refusesBob();
});
