import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, defineScript, openRuntime, type Run, type Session, type SessionEvent } from '../../src/index.ts';
import { askTool } from '../support/runs/ask-tool.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const script = defineScript({
  name: 'test',
  everyTurn: true,
  steps: [{ when: { userMatches: 'ask' }, calls: [{ tool: 'ask', input: {} }] }, { text: 'Answered.' }],
});
const agent = defineAgent({ name: 'tester', version: 1, model: script, tools: [askTool] });

const textsOf = async (session: Session, turn?: number): Promise<readonly string[]> =>
  (await session.transcript(turn === undefined ? {} : { at: { turn } })).entries.flatMap(({ message }) =>
    message.content.flatMap((part) => (part.type === 'text' ? [`${message.role}: ${part.text}`] : [])),
  );

const answerQuestion = async (session: Session): Promise<SessionEvent> => {
  const asked = (await Array.fromAsync(session.events())).findLast((event) => event.type === 'question.asked');
  await session.answer(asked!.payload.callId, 'this');
  return asked!;
};

const typesOf = async (run: Run): Promise<readonly string[]> =>
  (await Array.fromAsync(run.events())).map(({ type }) => type);

describe.each(storeKinds)('points of sessions with runs on %s', (kind) => {
  let place: StorePlace;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());

  const start = async () => {
    const runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
    onTestFinished(() => runtime.close());
    return { runtime, session: await runtime.sessions.open({ agent }) };
  };

  /**
   * Makes four turns. Their inputs arrived before the first turn, during it and after the third; one input steered,
   * and one was cancelled.
   */
  const startWithTurns = async () => {
    const { runtime, session } = await start();
    const first = await session.send('ask one');
    const second = await session.send('two');
    await runtime.worker().start();
    await first.result();
    const third = await session.send('three');
    await session.send('faster', { policy: 'steer' });
    await (await session.send('never mind')).cancel();
    const asked = await answerQuestion(session);
    await third.waitForEnd();
    const fourth = await session.send('four');
    await fourth.waitForEnd();
    return { session, asked, runs: [first, second, third, fourth] };
  };

  test('[FORK6, FORK10] an input that waited at the fork point is not answered in the fork, wherever it is in the log', async () => {
    const { session, runs } = await startWithTurns();
    const whole = await textsOf(session);
    expect(whole).toEqual([
      'user: ask one',
      'user: faster',
      'assistant: Answered.',
      ...['two', 'three', 'four'].flatMap((text) => [`user: ${text}`, 'assistant: Answered.']),
    ]);
    for (const [turn, messages] of [0, 3, 5, 7, 9].entries()) {
      expect(await textsOf(session, turn)).toEqual(whole.slice(0, messages));
      const fork = await session.fork({ at: { turn } });
      for (const branch of [fork, await fork.fork()]) {
        await (await branch.send('instead')).waitForEnd();
        expect(await textsOf(branch)).toEqual([...whole.slice(0, messages), 'user: instead', 'assistant: Answered.']);
      }
      const stored = (await Array.fromAsync(fork.events({ at: { turn } }))).map(({ run }) => run);
      for (const [place, { id }] of runs.entries()) {
        if (!stored.includes(id)) continue;
        const run = await fork.run(id);
        expect(await run.result()).toMatchObject({ status: place < turn ? 'succeeded' : 'cancelled' });
        expect((await typesOf(run)).at(-1)).toBe(place < turn ? 'run.ended' : 'session.forked');
      }
    }
  });

  test('[FORK3, FORK9] a run that a fork cut off has ended there, even when the fork continues', async () => {
    const { session, asked, runs } = await startWithTurns();
    const fork = await session.fork({ at: { seq: asked.seq } });
    const run = await fork.run(runs[0]!.id);
    expect(await run.result()).toMatchObject({ status: 'cancelled', usage: { outputTokens: expect.any(Number) } });
    await fork.resume();
    expect(await run.waitForEnd()).toMatchObject({ status: 'cancelled' });
    expect((await typesOf(run)).at(-1)).toBe('session.forked');
  });

  test('[FORK6, FORK10, FORK8, RUN23] a rewind cancels the inputs that have not started, and programs that wait for them are notified', async () => {
    const { runtime, session } = await start();
    const before = await session.send('one');
    const worker = runtime.worker();
    await worker.start();
    await before.waitForEnd();
    await worker.stop();
    const run = await session.send('two');
    const events = typesOf(run);
    expect(await session.rewind({ to: { turn: 1 } })).toMatchObject({ cancelled: [run.id] });
    expect(await session.inputs()).toEqual([]);
    expect(await session.rewind({ to: { turn: 1 } })).toMatchObject({ cancelled: [] });
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    expect(await events).toEqual(['input.admitted', 'run.ended']);
    await runtime.worker().start();
    await (await session.send('three')).waitForEnd();
    expect(await textsOf(session)).toEqual([
      'user: one',
      'assistant: Answered.',
      'user: three',
      'assistant: Answered.',
    ]);
  });

  test('[FORK6, FORK10, FORK8, REW2, RUN23] a retry cancels the waiting inputs, with events that followers read', async () => {
    const { runtime, session } = await start();
    const answered = await session.send('one');
    const worker = runtime.worker();
    await worker.start();
    await answered.waitForEnd();
    await worker.stop();
    const waiting = [await session.send('two'), await session.send('three', { notBefore: Date.now() + 60_000 })];
    const { seq } = await session.summary();
    const { run, cancelled } = await session.retry({ turn: 1 });
    expect(cancelled).toEqual(waiting.map(({ id }) => id));
    expect(await session.inputs()).toMatchObject([{ run: run!.id }]);
    for (const each of waiting) expect(await each.result()).toMatchObject({ status: 'cancelled' });
    const written = await Array.fromAsync(session.events({ after: seq }));
    expect(written.map(({ type, run: of }) => [type, of])).toEqual([
      ...waiting.map(({ id }) => ['run.ended', id]),
      ['session.rewound', undefined],
      ['input.admitted', run!.id],
    ]);
    expect(written[0]).toMatchObject({ actor: 'member:local', payload: { status: 'cancelled' } });
    await runtime.worker().start();
    expect(await run!.waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(await textsOf(session)).toEqual(['user: one', 'assistant: Answered.']);
  });

  test("[FORK5] a turn ends where the next one begins, so a person's changes in between belong to it", async () => {
    const { runtime, session } = await start();
    await runtime.worker().start();
    const note = (value: number) => session.commit([{ op: 'add', path: '/facts/noted', value }]);
    await note(0);
    await (await session.send('one')).waitForEnd();
    await note(1);
    await (await session.send('two')).waitForEnd();
    await note(2);
    for (const turn of [0, 1, 2]) {
      expect((await session.state({ at: { turn } })).facts).toEqual({ noted: turn });
      expect((await (await session.fork({ at: { turn } })).state()).facts).toEqual({ noted: turn });
    }
    const begins = (await Array.fromAsync(session.events())).flatMap(({ type, seq }) =>
      type === 'run.started' ? [seq] : [],
    );
    const { seq } = await session.summary();
    for (const [turn, end] of [...begins.map((each) => each - 1), seq].entries()) {
      expect((await (await session.fork({ at: { turn } })).summary()).forkedAt).toBe(end);
    }
  });
});
