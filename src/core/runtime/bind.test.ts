import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openRuntime } from '../../runtime.ts';
import type { PerdureError } from '../../schema/error.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { type Agent, defineAgent } from '../session/agent.ts';

const failure = async (work: () => unknown): Promise<PerdureError> => {
  try {
    await work();
  } catch (error) {
    return error as PerdureError;
  }
  throw new Error('it did not fail');
};

const one = defineAgent({ name: 'coder', version: 1, state: z.object({ note: z.string().optional() }) });
const changed = defineAgent({ name: 'coder', version: 1, state: z.object({ note: z.number().optional() }) });
const two = defineAgent({
  name: 'coder',
  version: 2,
  state: z.object({ text: z.string().optional() }),
  migrate: ({ note }) => ({ text: note as string }),
});

const begin = async (...agents: Agent[]) => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database), agents, worker: false });
  const session = await runtime.sessions.open({ agent: agents[0] });
  const reopened = async (...others: Agent[]) =>
    (await openRuntime({ store: openMemoryStore(database), agents: others, worker: false })).sessions.get(session.id);
  return { runtime, session, reopened };
};

const note = (value: unknown) => (draft: { own: object }) => Object.assign(draft.own, { note: value });

describe('a bound agent', () => {
  test('[AGT3] is rejected if it has another schema under the same version', async () => {
    const { session, reopened } = await begin(one);
    await session.commit(note('text'));
    const other = await reopened(changed);
    expect(await failure(() => other.commit(note(5)))).toMatchObject({
      code: 'AGENT_VERSION_UNAVAILABLE',
      message: expect.stringContaining('migrate'),
    });
    expect((await (await reopened(one)).commit(note('more')))!.delta).toHaveLength(1);
  });

  test('[AGT1, FOLD5] appears in listings, also after a rewind across its binding and in forks', async () => {
    const { runtime, session } = await begin(one, two);
    const shown = async () => [
      (await session.summary()).agent?.version,
      (await runtime.sessions.list()).sessions.find(({ id }) => id === session.id)?.agent?.version,
      (await (await session.fork()).summary()).agent?.version,
    ];
    const before = await session.commit(note('text'));
    await session.bind(two);
    expect(await shown()).toEqual([2, 2, 2]);
    await session.rewind({ to: { seq: before!.seq } });
    expect(await shown()).toEqual([1, 1, 1]);
    await session.commit(note('as before'));
    const unbound = await runtime.sessions.open();
    await unbound.bind(one);
    await unbound.rewind({ to: { seq: 1 } });
    expect((await unbound.summary()).agent).toBeUndefined();
  });

  test('[PROV4, AGT1] gives the migrated own part the lowest provenance of its entries', async () => {
    const { session } = await begin(one, two);
    await session.append({ role: 'user', content: 'x' });
    await session.commit(note('from the web'), { by: 'model', provenance: 'unverified' });
    await session.bind(two);
    const [migrated] = (await session.commits({ limit: 1 })).commits;
    expect(migrated).toMatchObject({ origin: { kind: 'migrate' }, provenance: 'unverified' });
  });

  test('[STATE5, STATE10] is rejected at the first validation that turns out to be asynchronous', async () => {
    const slow = defineAgent({
      name: 'slow',
      version: 1,
      state: z.object({ note: z.string().refine(async () => true) }).partial(),
    });
    const { session } = await begin(slow);
    expect(await failure(() => session.commit(note('x')))).toMatchObject({ code: 'AGENT_INVALID' });
    // biome-ignore lint/suspicious/noThenProperty: this test needs a foreign promise
    const validate = () => ({ then: (done: (result: object) => void) => done({ value: {} }) });
    const thenable = { '~standard': { version: 1, vendor: 'test', validate } };
    expect(await failure(() => defineAgent({ name: 'odd', version: 1, state: thenable as never }))).toMatchObject({
      code: 'AGENT_INVALID',
    });
  });

  test('[STATE5] stores values as they were committed, even if its schema would convert them', async () => {
    const state = z.object({ port: z.coerce.number().default(7), name: z.string().trim().optional() });
    // @ts-expect-error the schema has a coercion and a default: a JavaScript program can still pass it
    const agent: Agent = defineAgent({ name: 'lax', version: 1, state });
    const { session } = await begin(agent);
    expect((await session.state()).own).toEqual({});
    await session.commit((draft) => Object.assign(draft.own, { port: '12', name: ' a ' }));
    expect((await session.state()).own).toEqual({ port: '12', name: ' a ' });
  });
});

describe('a new session', () => {
  test('[CARRY1] can carry over from another session by its id', async () => {
    const { runtime, session } = await begin(one);
    await session.commit((draft) => Object.assign(draft.facts, { port: 80 }));
    const next = await runtime.sessions.open({ carryFrom: session.id });
    expect((await next.state()).facts).toEqual({ port: 80 });
    expect(await failure(() => runtime.sessions.open({ carryFrom: 'nonsense' as never }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  test('[IN1] rejects a value that is not an agent', async () => {
    const { session } = await begin(one);
    for (const agent of [undefined, null, 'coder', { name: 'coder', version: 1 }]) {
      expect(await failure(() => session.bind(agent as never))).toMatchObject({ code: 'INVALID_INPUT' });
    }
  });
});
