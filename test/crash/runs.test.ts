import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openRuntime, type Session } from '../../src/index.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';
import { crashAgent, crashFree, doneIn } from './run-agent.ts';
import type { CrashPlan, Death } from './run-worker.ts';

/**
 * Number of planned deaths. Killing a worker is cheap compared to killing a process that appends as fast as it can.
 */
const deaths = 2 * Number(process.env.PERDURE_KILLS);
const runsAtOnce = 12;
const places = ['before', 'after'] as const;
const tools = ['look', 'count', 'pay', 'mail'];

/** Works until every run has reached its planned death or its end. */
const workAndDie = async (plan: CrashPlan): Promise<void> => {
  const child = fork(new URL('./run-worker.ts', import.meta.url), [JSON.stringify(plan)], {
    stdio: 'inherit',
    execArgv: [],
  });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
};

const resultsOf = async (session: Session): Promise<readonly { outcome: string; output: unknown }[]> =>
  (await session.transcript()).entries.flatMap(({ message }) =>
    message.role === 'tool' ? message.content.map(({ outcome, output }) => ({ outcome, output })) : [],
  );

/** Checks what must hold for a finished run, whatever happened to its workers. */
const check = async (session: Session, folder: string): Promise<void> => {
  const count = doneIn(folder, session.id, 'count');
  const pay = doneIn(folder, session.id, 'pay');
  const mail = doneIn(folder, session.id, 'mail');
  expect(new Set(count).size, 'both idempotent calls ran').toBe(2);
  expect(count.length, 'each idempotent call took effect once').toBe(2);
  expect(pay.length, 'the once call ran at most once').toBeLessThanOrEqual(1);
  expect(mail.length, 'the once call with reconcile ran exactly once').toBe(1);
  const results = await resultsOf(session);
  expect(results.map(({ outcome, output }, index) => (outcome === 'interrupted' ? crashFree[index] : output))).toEqual(
    crashFree,
  );
  const interrupted = results.flatMap(({ outcome }, index) => (outcome === 'ok' ? [] : [crashFree[index]]));
  expect(['', 'pay done']).toContain(interrupted.join());
  if (pay.length === 0) expect(interrupted, 'a call that never ran is not reported as done').toEqual(['pay done']);
  const { messages } = await session.context();
  const calls = messages.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === 'tool-call' ? part.callId : [])),
  );
  const answers = messages.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === 'tool-result' ? part.callId : [])),
  );
  expect(answers).toEqual(calls);
  expect(await session.verify()).toMatchObject({ ok: true });
};

describe.each(storeKinds)('runs on %s', (kind) => {
  test('[RUN10, CTX1, RUN26] when a worker dies at any event, another worker finishes the run', async ({
    onTestFinished,
  }) => {
    const { address, remove } = await newStorePlace(kind);
    onTestFinished(remove);
    const folder = await mkdtemp(join(tmpdir(), 'perdure-run-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const agent = crashAgent(folder);
    const runtime = await openRuntime({ store: address, agents: [agent], worker: false });
    onTestFinished(() => runtime.close());

    /** Makes one run per list of deaths, all in the same processes. Returns how often each run lost its worker. */
    const trial = async (plans: readonly (readonly Death[])[]) => {
      const runs = await Promise.all(
        plans.map(async (plan) => {
          const session = await runtime.sessions.open({ agent });
          return { plan, session, run: await session.send('Do it all') };
        }),
      );
      for (let nth = 0; plans.some((plan) => nth < plan.length); nth++) {
        const planned = runs.flatMap(({ plan, session }) => (plan[nth] ? [[session.id, plan[nth]]] : []));
        await workAndDie({ address, folder, deaths: Object.fromEntries(planned) });
      }
      await runtime.worker({ pollMs: 200, concurrency: plans.length }).runUntilIdle();
      return Promise.all(
        runs.map(async ({ plan, session, run }) => {
          const about = JSON.stringify(plan);
          expect(await run.result(), about).toMatchObject({ status: 'succeeded', output: 'All is done.' });
          await check(session, folder);
          return { about, events: (await session.summary()).seq, died: doneIn(folder, session.id, 'died').length };
        }),
      );
    };

    const [undisturbed] = await trial([[]]);
    const { events } = undisturbed!;
    const firstOfRun = 4;
    const points = Array.from({ length: events - firstOfRun + 1 }, (_, index) => firstOfRun + index).flatMap((at) =>
      places.map((place) => ({ at, place })),
    );
    const inTools = tools.flatMap((tool) => places.map((place) => ({ tool, place })));
    /** Plans the deaths of two workers. When the second one starts, the run may already be past its planned death. */
    const anyTwo = (): readonly Death[] => {
      const first = points[randomInt(points.length)]!;
      const later = points.filter(({ at }) => at > first.at);
      return [first, ...later.slice(randomInt(later.length + 1)).slice(0, 1)];
    };
    const started = performance.now();
    const each = [...points, ...inTools].map((death) => [death]);
    let died = 0;
    while (died < deaths || each.length > 0) {
      const inTurn = each.splice(0, runsAtOnce);
      const trialled = await trial(inTurn.length > 0 ? inTurn : Array.from({ length: runsAtOnce }, anyTwo));
      if (inTurn.length > 0) expect(trialled.filter((one) => one.died !== 1)).toEqual([]);
      died += trialled.reduce((sum, one) => sum + one.died, 0);
    }
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`${kind}: runs lost their worker ${died} times in ${seconds} s, and every run finished`);
  });
});
