import { afterEach, describe, expect, test } from 'vitest';
import { defineAgent, openRuntime, type Run, type Session } from '../../src/index.ts';
import type { PayloadOf } from '../../src/schema/event.ts';
import { callCli } from '../support/cli/call-cli.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { chatApi } from '../support/providers/chat-api.ts';
import { messagesApi } from '../support/providers/messages-api.ts';
import type { Reply } from '../support/providers/provider-api.ts';
import { type ProviderServer, startProvider, testKey } from '../support/providers/provider-server.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const agent = defineAgent({ name: 'reader', model: ['anthropic/first', 'local/second'] });

const limited = (seconds: number): Reply => ({
  status: { status: 429, message: 'slow down', headers: { 'retry-after': String(seconds) } },
});
const done: Reply = { answer: { text: 'Done.' } };

const failuresOf = async (session: Session): Promise<readonly PayloadOf<'model.failed'>[]> =>
  (await Array.fromAsync(session.events())).flatMap((event) => (event.type === 'model.failed' ? [event.payload] : []));
const waitOf = async (session: Session): Promise<PayloadOf<'run.waiting'> | undefined> =>
  (await Array.fromAsync(session.events())).findLast((event) => event.type === 'run.waiting')?.payload;

interface Setup {
  readonly first: ProviderServer;
  readonly second: ProviderServer;
  readonly address: string;
  readonly session: Session;
  readonly run: Run;
  /** Starts a worker in this process, with a clock that is ahead by so many milliseconds. Returns how to stop it. */
  work(aheadMs?: number): Promise<() => Promise<void>>;
  /** Starts a worker in a process of its own. Returns how to kill it. */
  workElsewhere(): () => Promise<unknown>;
}

describe.each(storeKinds)('on %s', (kind) => {
  const start = async (): Promise<Setup> => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    const [first, second] = [await startProvider(messagesApi), await startProvider(chatApi)];
    undo.push(() => Promise.all([first.close(), second.close()]));
    const providers = {
      anthropic: { baseUrl: first.url, apiKey: testKey },
      local: { baseUrl: second.url, apiKey: testKey },
    };
    const open = async (aheadMs: number) => {
      const runtime = await openRuntime({
        store: place.address,
        agents: [agent],
        worker: false,
        models: { env: {}, providers },
        clock: { now: () => Date.now() + aheadMs },
      });
      undo.push(() => runtime.close());
      return runtime;
    };
    const session = await (await open(0)).sessions.open({ agent });
    return {
      first,
      second,
      address: place.address,
      session,
      run: await session.send('Go'),
      work: async (aheadMs = 0) => {
        const worker = (await open(aheadMs)).worker({ pollMs: 100 });
        await worker.start();
        return () => worker.stop();
      },
      workElsewhere: () => {
        const child = runScript(`
          import { defineAgent, openRuntime } from ${moduleUrl('src/index.ts')};
          const agent = defineAgent({ name: 'reader', model: ['anthropic/first', 'local/second'] });
          const runtime = await openRuntime({
            store: ${JSON.stringify(place.address)},
            agents: [agent],
            worker: false,
            models: { env: {}, providers: ${JSON.stringify(providers)} },
          });
          await runtime.worker().start();`);
        undo.push(() => child.kill());
        return async () => {
          child.kill();
          return child.ended;
        };
      },
    };
  };

  test('[FALL4] a worker that takes the run over asks the model that the log says is next', async () => {
    const { first, second, session, run, work, workElsewhere } = await start();
    first.reply(limited(0), done);
    second.reply({ answer: { text: 'Half of it.' }, fault: 'stall' }, done);
    const kill = workElsewhere();
    await expect.poll(() => second.requests.length, { timeout: 20_000 }).toBe(1);
    await kill();
    await work();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    expect(await failuresOf(session)).toMatchObject([{ model: 'anthropic/first', next: 'local/second' }]);
  });

  test('[FALL7] a worker that is killed during a wait for models delays nothing', async () => {
    const { first, second, session, run, work, workElsewhere } = await start();
    first.reply(limited(5), done);
    second.reply(limited(5));
    const kill = workElsewhere();
    await expect.poll(() => waitOf(session), { timeout: 20_000 }).toBeDefined();
    const { until, reason } = (await waitOf(session))!;
    expect(reason).toMatch(/none of 2 models answers; the last one failed: local\/second reports a rate limit/);
    await kill();
    await work();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    const { at } = (await Array.fromAsync(session.events())).find(({ type }) => type === 'run.resumed')!;
    expect(at).toBeGreaterThanOrEqual(until!);
    expect(at - until!).toBeLessThan(5000);
    expect([first.requests.length, second.requests.length]).toEqual([2, 1]);
  });

  test('[FALL7] a wait for models holds no worker and is shown by status, stream, ls and show', async () => {
    const { first, second, address, session, run, work } = await start();
    first.reply(limited(600), done);
    second.reply(limited(60));
    const stop = await work();
    await expect.poll(() => waitOf(session), { timeout: 20_000 }).toBeDefined();
    const { until } = (await waitOf(session))!;
    expect(until! - Date.now()).toBeGreaterThan(500_000);
    expect(await run.status()).toMatchObject({
      status: 'running',
      waitingFor: 'model',
      until,
      reason: expect.stringContaining('slow down'),
    });
    for await (const part of run.stream()) {
      if (part.type !== 'waiting') continue;
      expect(part).toMatchObject({ for: 'model', until, reason: expect.stringContaining('slow down') });
      break;
    }
    expect(await session.summary()).toMatchObject({ waiting: 'model', waitsUntil: until });
    const world = { columns: 200, env: { PERDURE_STORE: address } };
    expect((await callCli(['ls'], world)).out).toMatch(/model, 9 min/);
    expect((await callCli(['show', session.id], world)).out).toMatch(
      /waits for model until \d{4}-.*, then continues by itself/,
    );
    await stop();
    expect(first.requests).toHaveLength(1);
    await work(601_000);
    await session.limit({ turns: 100 }); // triggers a check before the queue would
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    expect(await session.summary()).not.toHaveProperty('waitsUntil');
  });
});
