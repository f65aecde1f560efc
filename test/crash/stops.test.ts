import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { openRuntime, type Session } from '../../src/index.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';
import { callsAtOnce, type StopName, stops, stuckAgent } from './stop-agent.ts';
import type { StopPlan } from './stop-process.ts';

const stopAndDie = async (plan: StopPlan): Promise<void> => {
  const child = fork(new URL('./stop-process.ts', import.meta.url), [JSON.stringify(plan)], {
    stdio: 'inherit',
    execArgv: [],
  });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
};

/** What must hold once the stop is settled. */
const check: Record<StopName, (session: Session) => Promise<void>> = {
  cancel: async (session) => {
    const calls = (await session.toolCalls()).calls;
    expect(calls.map(({ status }) => status)).toEqual(Array.from({ length: callsAtOnce }, () => 'cancelled'));
  },
  handoff: async (session) => {
    expect(await session.summary()).toMatchObject({ holder: 'human', waiting: 'human' });
    await session.handoff({ to: 'agent' });
  },
  pause: async (session) => {
    expect(await session.summary()).toMatchObject({ status: 'paused' });
    await session.resume();
  },
};

describe.each(storeKinds)('on %s', (kind) => {
  test.each(Object.keys(stops) as StopName[])(
    '[RUN42, RUN43] a %s whose process is killed before it is settled is settled by others at once',
    async (stop) => {
      const { address, remove } = await newStorePlace(kind);
      let isStuck = true;
      let stuck = Promise.withResolvers<void>();
      const agent = stuckAgent(
        () => isStuck,
        () => stuck.resolve(),
      );
      const runtime = await openRuntime({ store: address, agents: [agent], worker: false });
      try {
        for (const works of [false, true]) {
          stuck = Promise.withResolvers();
          const session = await runtime.sessions.open({ agent });
          const run = await session.send('Go');
          const worker = runtime.worker();
          if (!works) {
            isStuck = true;
            await worker.start();
            await stuck.promise;
          }
          await stopAndDie({ address, session: session.id, stop, works });
          isStuck = false;
          // The worker that the stop fenced, a worker that finds the dead one, or the next command.
          if (works) await worker.runUntilIdle();
          else if (stop === 'cancel') await run.waitForEnd();
          else await session.update({ title: 'Later' });
          await check[stop](session);
          if (works) await worker.runUntilIdle();
          const status = stop === 'cancel' ? 'cancelled' : 'succeeded';
          expect(await run.waitForEnd()).toMatchObject({ status });
          await worker.stop();
          expect(await session.verify()).toMatchObject({ ok: true });
        }
      } finally {
        await runtime.close();
        await remove();
      }
    },
  );
});
