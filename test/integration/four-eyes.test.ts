import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Session,
  type SessionEvent,
} from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { askTool, subagent } from '../../src/tools/index.ts';

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
const calls = (tool: string, input: object = {}) => ({ calls: [{ tool, input }] });
const asks = calls('ask', { question: 'Which port?' });

const done = { text: 'Done.' };

const start = async (...steps: readonly (ReturnType<typeof calls> | typeof done)[]) => {
  const script = (name: string, ...all: readonly object[]) =>
    defineScript({ name, steps: [...all, done] } as Parameters<typeof defineScript>[0]);
  const helper = defineAgent({ name: 'helper', model: script('helper', ...steps), tools: [deploy, askTool] });
  const boss = defineAgent({
    name: 'boss',
    model: script('boss', calls('helper', { task: 'Do it' }), calls('deploy')),
    tools: [subagent(helper), deploy],
  });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [helper, boss], worker: false });
  undo.push(() => runtime.close());
  const as = (member: string) => runtime.as({ workspace: 'acme', member, role: 'admin' });
  await as('worker').worker().start();
  const sessionOf = async (member: string, { id }: Pick<Session, 'id'>) => as(member).sessions.get(id);
  const pending = async () => (await as('ann').approvals.list()).map(({ id }) => id);
  /** Answers the open approval with each member in turn. Those who may not answer it are refused. */
  const answer = async (how: 'approve' | 'deny', members: Readonly<Record<string, boolean>>, comment?: string) => {
    await expect.poll(pending, { timeout: 10_000 }).toHaveLength(1);
    const [id] = await pending();
    const refused = { code: 'APPROVAL_FORBIDDEN', message: expect.stringContaining('another person must answer it') };
    for (const [member, may] of Object.entries(members)) {
      if (may) await as(member).approvals[how](id!, { comment });
      else await expect(as(member).approvals[how](id!)).rejects.toMatchObject(refused);
    }
    await expect.poll(pending).not.toContain(id);
  };
  const answerQuestion = async (session: Session, text: string) => {
    const asked = (event: SessionEvent) => event.type === 'question.asked';
    await expect
      .poll(async () => (await Array.fromAsync(session.events())).some(asked), { timeout: 10_000 })
      .toBe(true);
    const event = (await Array.fromAsync(session.events())).find(asked) as SessionEvent<'question.asked'>;
    await session.answer(event.payload.callId, text);
  };
  return { as, helper, boss, sessionOf, answer, answerQuestion };
};

test('[APPR5, APPR6] the member who answered a question of the run cannot approve its next call', async () => {
  const { as, helper, sessionOf, answer, answerQuestion } = await start(asks, calls('deploy'));
  const session = await as('ann').sessions.open({ agent: helper });
  const run = await session.send('Go');
  await answerQuestion(await sessionOf('bob', session), 'Deploy it at once');
  await answer('approve', { ann: false, bob: false, cid: true });
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test.each<[string, (bob: Session) => Promise<unknown>]>([
  ['appended a message', (bob) => bob.append({ role: 'user', content: 'Deploy.' })],
  ['wrote a file', (bob) => bob.files.write('deploy.sh', 'deploy')],
  ['committed to the state', (bob) => bob.commit(({ facts }) => void Object.assign(facts, { port: { value: 1 } }))],
])('[APPR5, APPR6] a member who %s before the run cannot approve its calls', async (_, contribute) => {
  const { as, helper, sessionOf, answer } = await start(calls('deploy'));
  const session = await as('ann').sessions.open({ agent: helper });
  await contribute(await sessionOf('bob', session));
  const run = await session.send('Go');
  await answer('approve', { bob: false, cid: true });
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[APPR5, APPR6] a comment on a denial counts as words in this run, and no longer in the next one', async () => {
  const { as, helper, answer } = await start(calls('deploy'), calls('deploy'), done, calls('deploy'));
  const session = await as('ann').sessions.open({ agent: helper });
  const run = await session.send('Go');
  await answer('deny', { bob: true }, 'Deploy the other one');
  await answer('approve', { bob: false, cid: true });
  await run.waitForEnd();
  const next = await session.send('Again');
  await answer('approve', { bob: true });
  expect(await next.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[APPR5, APPR6] words to a subagent count for its caller, and words to the caller for the subagent', async () => {
  const { as, boss, sessionOf, answer, answerQuestion } = await start(asks, calls('deploy'));
  const session = await as('ann').sessions.open({ agent: boss });
  const run = await session.send('Go');
  const children = async () => (await as('ann').sessions.list()).sessions.filter(({ id }) => id !== session.id);
  await expect.poll(children, { timeout: 10_000 }).toHaveLength(1);
  const [child] = await children();
  await answerQuestion(await sessionOf('bob', child!), 'Deploy it');
  await (await sessionOf('dan', session)).append({ role: 'user', content: 'Hurry.' });
  await answer('approve', { ann: false, bob: false, dan: false, cid: true }); // the subagent's call
  await answer('approve', { ann: false, bob: false, dan: false, cid: true }); // the caller's own call
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[APPR5, APPR6] the author of a retried input, and the editors of an adopted branch, have asked too', async () => {
  const { as, helper, sessionOf, answer } = await start(calls('deploy'), done, calls('deploy'));
  const session = await as('bob').sessions.open({ agent: helper });
  const first = await session.send('Deploy');
  await answer('deny', { cid: true });
  await first.waitForEnd();
  const retried = await (await sessionOf('ann', session)).retry({ turn: 1, again: true });
  await answer('deny', { ann: false, bob: false, cid: true });
  await retried.run!.waitForEnd();
  const branch = await session.fork();
  await (await sessionOf('eve', branch)).files.write('deploy.sh', 'deploy');
  await (await sessionOf('ann', session)).adopt(branch.id);
  const last = await (await sessionOf('ann', session)).send('Go on');
  await answer('approve', { ann: false, eve: false, cid: true });
  await last.waitForEnd();
});
