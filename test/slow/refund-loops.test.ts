import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { type Payments, startPayments } from '../support/loops/payments.ts';
import type { LoopPlan } from '../support/loops/refund-loop.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

vi.setConfig({ testTimeout: 240_000 }); // processes, perhaps on a busy machine

const kills = 10;
/** So many processes at a time, because each kill waits mostly for a process to start. */
const atATime = 3;
const loop = fileURLToPath(new URL('../support/loops/refund-loop.ts', import.meta.url));
const python = fileURLToPath(new URL('../../examples/python-loop.py', import.meta.url));

const begin = async (runtime: Runtime): Promise<Session> => {
  const session = await runtime.sessions.open();
  await session.append({ role: 'user', content: 'Refund the order.' });
  return session;
};

/** Kills the loop inside its refund, starts it again, and waits for its end. */
const killAndRepeat = async (payments: Payments, order: string, start: () => ReturnType<typeof spawn>) => {
  const paid = payments.holdNext(order);
  const first = start();
  const died = once(first, 'exit');
  await Promise.race([paid, died.then(() => Promise.reject(new Error('the loop ended before its refund')))]);
  first.kill('SIGKILL');
  await died;
  const second = start();
  const [code] = await once(second, 'exit');
  expect(code).toBe(0);
  expect(payments.paid.get(order)).toBe(1);
};

/** Does the work for each index, a few at a time. */
const forEachKill = async (work: (index: number) => Promise<void>): Promise<void> => {
  const left = Array.from({ length: kills }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: atATime }, async () => {
      for (const index of left) await work(index);
    }),
  );
};

const forked = (plan: LoopPlan) => () =>
  fork(loop, [JSON.stringify(plan)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });

const expectSettled = async (session: Session, status: string) => {
  expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'refund', status }]);
  const { messages } = await session.context();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(await session.verify()).toMatchObject({ ok: true });
};

describe.each(storeKinds)('a loop that is killed inside its refund, on %s', (kind) => {
  const openPlace = async () => {
    const place = await newStorePlace(kind);
    onTestFinished(() => place.remove());
    return place;
  };

  test.each(['streamText', 'plain'] as const)(
    `[LOOP1, LOOP4, LOOP10] refunds once in ${kills} kills of a loop of the kind %s`,
    async (loopKind) => {
      const { address } = await openPlace();
      const payments = await startPayments();
      await using runtime = await openRuntime({ store: address });
      await forEachKill(async (index) => {
        const session = await begin(runtime);
        const reconciles = index % 2 === 0;
        const order = `A${index}`;
        const plan = { kind: loopKind, session: session.id, payments: payments.url, order, address, reconciles };
        await killAndRepeat(payments, order, forked(plan));
        await expectSettled(session, reconciles ? 'ok' : 'interrupted');
      });
    },
  );

  test(`[LOOP1, LOOP8] refunds once in ${kills} kills of a loop by HTTP`, async () => {
    const { address } = await openPlace();
    const payments = await startPayments();
    const { server, keys, runtime } = await startTestServer({}, { store: address }, { hasWorker: false });
    await forEachKill(async (index) => {
      const session = await begin(runtime);
      const order = `A${index}`;
      const access = { url: server.url, key: keys.member };
      const plan: LoopPlan = {
        kind: 'http',
        session: session.id,
        payments: payments.url,
        order,
        server: access,
        reconciles: false,
      };
      await killAndRepeat(payments, order, forked(plan));
      await expectSettled(session, 'running');
    });
  });
});

test(`[LOOP1, LOOP8] the example in Python refunds once in ${kills} kills`, async () => {
  const { server, keys, runtime } = await startTestServer({}, {}, { hasWorker: false });
  await forEachKill(async () => {
    const payments = await startPayments();
    const session = await begin(runtime);
    const env = { ...process.env, PERDURE_URL: server.url, PERDURE_KEY: keys.member, PAYMENTS_URL: payments.url };
    await killAndRepeat(payments, 'A1', () =>
      spawn('python3', [python, session.id], { env, stdio: ['ignore', 'ignore', 'inherit'] }),
    );
    await expectSettled(session, 'running');
  });
});

test('[LOOP8] the example in Python opens a session, refunds and says so', async () => {
  const { server, keys, runtime } = await startTestServer({}, {}, { hasWorker: false });
  const env = { ...process.env, PERDURE_URL: server.url, PERDURE_KEY: keys.member };
  const child = spawn('python3', [python], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const out = (await Array.fromAsync(child.stdout.setEncoding('utf8'))).join('');
  const [, id] = /^session (ses_\w+)\nThe refund is ok: refunded A1\n$/.exec(out)!;
  const session = await runtime.sessions.get(id!);
  expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'refund', status: 'ok', callId: 'refund-1' }]);
});
