import { afterEach, expect, test } from 'vitest';
import { type Model, ModelFailure } from '../../src/core/ports/model.ts';
import { defineAgent, openRuntime, type Runtime } from '../../src/index.ts';
import { PerdureError } from '../../src/schema/error.ts';
import { type MemoryDatabase, newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/** A store that fails for good before its append number `at`, like the process of a worker that dies there. */
const mortalStore = (database: MemoryDatabase, at: number) => {
  const store = openMemoryStore(database);
  const died = Promise.withResolvers<true>();
  let appends = 0;
  const mortal = overrideStore(store, {
    append: async (request) => {
      appends += 1;
      if (appends < at) return store.append(request);
      died.resolve(true);
      throw new PerdureError('STORE_UNAVAILABLE', 'this worker is dead');
    },
  });
  return { mortal, died: died.promise };
};

const modelOf = (name: string, answer: Model['answer'], price: Model['price'] = null): Model => ({
  name,
  contextTokens: 100_000,
  price,
  answer,
});
const usage = { inputTokens: 100, outputTokens: 10, usd: 0.5 };
const done: Model['answer'] = async () => ({ parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage });

/** Runs the agent with a worker that dies before its first append, its second one, and so on until it survives. */
const withDeaths = async (
  model: readonly Model[],
  check: (
    session: Awaited<ReturnType<Runtime['sessions']['open']>>,
    result: unknown,
    runtime: Runtime,
  ) => Promise<void>,
): Promise<void> => {
  const agent = defineAgent({ name: 'desk', model });
  const opened = async (store: ReturnType<typeof openMemoryStore>): Promise<Runtime> => {
    const runtime = await openRuntime({ store, agents: [agent], worker: false, onWarning: () => undefined });
    undo.push(() => runtime.close());
    return runtime;
  };
  let hasDied = true;
  for (let at = 1; hasDied; at++) {
    const database = newMemoryDatabase();
    const runtime = await opened(openMemoryStore(database));
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Go');
    const { mortal, died } = mortalStore(database, at);
    const dying = (await opened(mortal)).worker();
    await dying.start();
    hasDied = await Promise.race([died, run.waitForEnd().then(() => false)]);
    await dying.stop();
    if (hasDied) await runtime.worker().start();
    await check(session, await run.waitForEnd(), runtime);
  }
};

test('[FALL3, FALL15] no fallback is asked for what a provider refused, before whatever append a worker dies', async () => {
  let isAsked = false;
  const refuses = modelOf('a/refuses', () => Promise.reject(new ModelFailure('refused', 'not that')));
  const other = modelOf('b/other', async (...request) => {
    isAsked = true;
    return done(...request);
  });
  await withDeaths([refuses, other], async (_, result) => {
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_REFUSED', message: 'not that' } });
    expect(isAsked).toBe(false);
  });
});

test('[FALL15, COST10] a cut-off answer fails its run, before whatever append a worker dies', async () => {
  const long = modelOf('a/long', async (...request) => ({ ...(await done(...request)), finish: 'length' }));
  await withDeaths([long], async (session, result) => {
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_LENGTH' } });
    expect((await session.usage()).own.outputTokens).toBe(10);
  });
});

test('[COST2, COST3, BUDGET3] a broken-off answer and that of the fallback are each charged once, to their models, before whatever append a worker dies', async () => {
  const breaks = modelOf(
    'a/breaks',
    async (_, show) => {
      show({ kind: 'text', text: 'Half of it. '.repeat(10) });
      throw new ModelFailure('broken-stream', 'gone');
    },
    { input: 1e4, output: 1e6 },
  );
  await withDeaths([breaks, modelOf('b/other', done, { input: 1, output: 1 })], async (session, result, runtime) => {
    expect(result).toMatchObject({ status: 'succeeded', output: 'Done.' });
    const { spent, own } = await session.usage();
    expect(own).toMatchObject({ tokens: spent.tokens, unpriced: spent.unpriced });
    expect(own.usd).toBeCloseTo(spent.usd, 9);
    const byModel = await runtime.usage({ by: 'model' });
    expect(byModel.rows.find(({ key }) => key === 'b/other')).toMatchObject({ own: { tokens: 110, usd: 0.5 } });
    const broken = (await session.transcript()).entries.filter(({ brokenOff }) => brokenOff);
    expect(byModel.rows.find(({ key }) => key === 'a/breaks')).toMatchObject({
      calls: broken.length,
      own: { outputTokens: 30 * broken.length },
    });
    await runtime.sessions.rebuildProjections();
    expect(await runtime.usage({ by: 'model' })).toEqual(byModel);
    expect((await session.replay({ turn: 1 })).departures).toEqual([]);
    expect(await runtime.usage({ by: 'model' }), 'a replay uses nothing').toEqual(byModel);
  });
});
