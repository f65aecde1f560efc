import { afterEach, expect, test } from 'vitest';
import { defineAgent, defineScript, type Identity, openRuntime, type Session } from '../../index.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const budget = { tokens: 1000, usd: 1 };
const script = defineScript({ name: 'says', everyTurn: true, steps: [{ text: 'Done.' }] });
const agent = defineAgent({ name: 'desk', model: script, policies: { budget }, offeredTo: 'own' });

const start = async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [agent], worker: false });
  undo.push(() => runtime.close());
  const as = (more: Partial<Identity>) => runtime.as({ workspace: 'acme', member: 'cust', ...more });
  return { runtime, as };
};
const limitsOf = async (session: Session) => (await session.usage()).limits;

test.each<[string, Partial<Identity>]>([
  ['the reach own', { reach: 'own' }],
  ['the role admin and the reach own', { role: 'admin', reach: 'own' }],
  ['the role member', { role: 'member' }],
])('[RUN53] an opener with %s lowers the budget of the agent, but does not raise or remove it', async (_, who) => {
  const { sessions } = (await start()).as(who);
  const opened = async (given: object) => limitsOf(await sessions.open({ agent, budget: given }));
  expect(await opened({ tokens: 1e9, usd: 1e6 })).toEqual(budget);
  expect(await opened({})).toEqual(budget);
  expect(await opened({ tokens: 10, turns: 3 })).toEqual({ tokens: 10, usd: 1, turns: 3 });
});

test('[RUN53] an approver and the program raise the budget of the agent', async () => {
  const { runtime, as } = await start();
  const given = { tokens: 5000 };
  for (const { sessions } of [runtime, as({ role: 'approver' })]) {
    expect(await limitsOf(await sessions.open({ agent, budget: given }))).toEqual(given);
  }
});

test('[RUN54] an agent that is bound later brings its budget', async () => {
  const { sessions } = (await start()).as({ reach: 'own' });
  expect(await limitsOf(await (await sessions.open()).bind(agent))).toEqual(budget);
  const generous = await sessions.open({ budget: { tokens: 1e9, turns: 3 } });
  expect(await limitsOf(await generous.bind(agent))).toEqual({ ...budget, turns: 3 });
});

test('[RUN54] no fork has the agent without its budget, and a replay leaves none', async () => {
  const { runtime, as } = await start();
  const { sessions } = as({ reach: 'own' });
  await runtime.worker().start();
  const session = await sessions.open({ agent });
  await (await session.send('Go')).waitForEnd();
  const bound = (await Array.fromAsync(session.events())).find(({ type }) => type === 'agent.bound')!;
  expect(await limitsOf(await session.fork({ at: { seq: bound.seq } }))).toEqual(budget);
  const replayed = await session.replay({ turn: 1 });
  expect(await limitsOf(await sessions.get(replayed.session))).toEqual(budget);
});
