import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../stores.ts';
import { crashAgent, crashFree, crashScript, doneIn } from './run-agent.ts';
import type { CrashPlan } from './run-worker.ts';

/** A death of a worker costs little beside one of a process that appends as fast as it can. */
const kills = 2 * Number(process.env.PERDURE_KILLS);
const places = ['before', 'after'] as const;
const tools = ['look', 'count', 'pay', 'mail'];

/** Works until it has died as planned; false when it finished the run without coming to that place. */
const hasDied = async (plan: CrashPlan): Promise<boolean> => {
  const child = fork(new URL('./run-worker.ts', import.meta.url), [JSON.stringify(plan)], { stdio: 'inherit' });
  const [code, signal] = await once(child, 'exit');
  expect({ code, signal }).toEqual(signal ? { code: null, signal: 'SIGKILL' } : { code: 0, signal: null });
  return signal !== null;
};

const resultsOf = async (session: Session): Promise<readonly { outcome: string; output: unknown }[]> =>
  (await session.transcript()).flatMap(({ message }) =>
    message.role === 'tool' ? message.content.map(({ outcome, output }) => ({ outcome, output })) : [],
  );

/** What must hold of a finished run, whatever happened to its workers. */
const check = async (session: Session, folder: string): Promise<void> => {
  const count = doneIn(folder, 'count');
  const pay = doneIn(folder, 'pay');
  const mail = doneIn(folder, 'mail');
  expect(new Set(count).size, 'idempotent calls, each counted').toBe(2);
  expect(count.length, 'idempotent calls, counted once').toBe(2);
  expect(pay.length, 'once, at most once').toBeLessThanOrEqual(1);
  expect(mail.length, 'once with reconcile, exactly once').toBe(1);
  const results = await resultsOf(session);
  expect(results.map(({ outcome, output }, index) => (outcome === 'interrupted' ? crashFree[index] : output))).toEqual(
    crashFree,
  );
  const interrupted = results.flatMap(({ outcome }, index) => (outcome === 'ok' ? [] : [crashFree[index]]));
  expect(['', 'pay done']).toContain(interrupted.join());
  if (pay.length === 0) expect(interrupted, 'a call that never ran is not told as done').toEqual(['pay done']);
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
  const undo: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const each of undo.splice(0).reverse()) await each();
  });
  const newFolder = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-run-'));
    undo.push(() => rm(folder, { recursive: true }));
    return folder;
  };
  const begin = async (place: StorePlace, folder: string) => {
    const runtime = await openRuntime({
      store: place.address,
      agents: [crashAgent(folder)],
      models: { scripts: [crashScript] },
    });
    return runtime;
  };
  const finish = async (runtime: Runtime, session: Session): Promise<void> => {
    const worker = runtime.worker({ pollMs: 200, session: session.id });
    await worker.runUntilIdle();
  };
  const trial = async (place: StorePlace, deaths: readonly CrashPlan['die'][]) => {
    const folder = await newFolder();
    const runtime = await begin(place, folder);
    const session = await runtime.sessions.open({ agent: crashAgent(folder) });
    const run = await session.send('Do it all');
    let died = 0;
    for (const die of deaths) if (await hasDied({ address: place.address, folder, die })) died++;
    await finish(runtime, session);
    expect(await run.result(), JSON.stringify(deaths)).toMatchObject({ status: 'succeeded', output: 'All is done.' });
    await check(session, folder);
    const { seq } = await session.summary();
    await runtime.close();
    return { events: seq, died };
  };

  test('[RUN10, CTX1] a worker that dies at any event leaves a run that another finishes', async () => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    const { events } = await trial(place, []);
    const firstOfRun = 4;
    const points = Array.from({ length: events - firstOfRun + 1 }, (_, index) => firstOfRun + index).flatMap((at) =>
      places.map((where) => ({ at, place: where })),
    );
    const inTools = tools.flatMap((tool) => places.map((where) => ({ tool, place: where })));
    const all = [...points, ...inTools];
    const wanted = Math.max(all.length, kills);
    const started = performance.now();
    let died = 0;
    /** Two workers die; the second may find the run further on than where it was to die. */
    const anyTwo = (): readonly CrashPlan['die'][] => {
      const first = points[randomInt(points.length)]!;
      const later = points.filter(({ at }) => at > first.at);
      return [first, ...later.slice(randomInt(later.length + 1)).slice(0, 1)];
    };
    for (let round = 0; died < wanted; round++) {
      const isEachInTurn = round < all.length;
      const trialled = await trial(place, isEachInTurn ? [all[round]!] : anyTwo());
      if (isEachInTurn) expect(trialled.died, JSON.stringify(all[round])).toBe(1);
      died += trialled.died;
    }
    console.log(
      `${kind}: ${died} workers killed in ${Math.round((performance.now() - started) / 1000)} s, every run finished`,
    );
  });
});
