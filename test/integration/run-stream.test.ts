import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Model, ModelFailure } from '../../src/core/ports/model.ts';
import {
  type AgentDefinition,
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Run,
  type RunPart,
  type RuntimeOptions,
} from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { askTool } from '../support/runs/ask-tool.ts';
import { newSqliteFile } from '../support/stores/sqlite-file.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

type Opened = Partial<AgentDefinition> & Pick<AgentDefinition, 'model'>;

const open = async (given: Opened, options: Partial<RuntimeOptions> = {}) => {
  const agent = defineAgent({ name: 'tester', ...given });
  const store = openMemoryStore();
  const runtime = await openRuntime({ store, agents: [agent], timing: { modelBackoffMs: 1 }, ...options });
  undo.push(() => runtime.close());
  return { runtime, agent, session: await runtime.sessions.open({ agent }) };
};

const textIn = (parts: readonly RunPart[]) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
const typesIn = (parts: readonly RunPart[]) => parts.map(({ type }) => type);
const kept = (parts: readonly RunPart[]) => parts.filter((part) => 'seq' in part);
/** The types of the parts in order; several parts of one type in a row are listed once. */
const course = (parts: readonly RunPart[]) => typesIn(parts).filter((type, place, all) => type !== all[place - 1]);

const count = defineTool({
  name: 'count',
  input: z.object({ to: z.number() }),
  effects: 'none',
  execute: async ({ to }, { progress }) => {
    for (let n = 1; n <= to; n++) {
      progress(`${n} of ${to}`);
      await new Promise(setImmediate);
    }
    return 'counted';
  },
});
const counting: Opened = {
  model: defineScript({
    steps: [
      { reasoning: 'I count first.', calls: [{ tool: 'count', input: { to: 2 } }] },
      { text: 'One, and then two.' },
    ],
  }),
  tools: [count],
};

test('[RUN31, RUN32, RUN18] a run is streamed from its start to its result', async () => {
  // A model takes time, in which followers are woken.
  const pause = async () => {
    for (let turn = 0; turn < 10; turn++) await turnOfLoop();
  };
  const { session } = await open(counting, { models: { pause } });
  const run = await session.send('Go');
  const parts: RunPart[] = [];
  const messagesBefore: number[] = [];
  for await (const part of run.stream()) {
    if (part.type === 'reasoning') messagesBefore.push((await session.summary()).messages);
    parts.push(part);
  }
  expect(messagesBefore[0]).toBe(1);
  expect(course(parts)).toEqual([
    'started',
    'reasoning',
    'tool-input',
    'message',
    'tool-call',
    'tool-progress',
    'tool-results',
    'text',
    'message',
    'end',
  ]);
  const find = (type: RunPart['type']) => parts.find((part) => part.type === type);
  expect(find('tool-call')).toMatchObject({ tool: 'count', input: { to: 2 }, attempt: 1 });
  expect(find('tool-progress')).toMatchObject({ text: '1 of 2' });
  expect(find('tool-results')).toMatchObject({ results: [{ tool: 'count', outcome: 'ok', output: 'counted' }] });
  expect(textIn(parts)).toBe('One, and then two.');
  expect(parts.at(-1)).toEqual({ type: 'end', seq: expect.any(Number), result: await run.result() });
});

test('[RUN31, RUN38, RUN32, RUN34] the stream of an ended run replays it, from its start or after any logged part', async () => {
  const { session } = await open(counting);
  const run = await session.send('Go');
  const live = await Array.fromAsync(run.stream());
  const again = await Array.fromAsync((await session.run(run.id)).stream());
  expect(kept(again)).toEqual(kept(live));
  expect(textIn(again)).toBe('One, and then two.');
  const seqs = kept(again).map((part) => ('seq' in part ? part.seq : 0));
  expect(new Set(seqs).size).toBe(seqs.length);
  for (const [place, seq] of seqs.entries()) {
    expect(kept(await Array.fromAsync(run.stream({ after: seq })))).toEqual(kept(again).slice(place + 1));
  }
  await expect(run.stream({ after: 1000 }).next()).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
});

/** A model that writes its next word when the test allows it, and fails or ends where the test says so. */
const wordByWord = (...words: readonly string[]) => {
  const steps = words.map(() => Promise.withResolvers<void>());
  const model: Model = {
    name: 'test/words',
    contextTokens: 10_000,
    price: null,
    answer: async ({ signal }, onDelta) => {
      for (const [place, text] of words.entries()) {
        await Promise.race([
          steps[place]!.promise,
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ]);
        onDelta({ kind: 'text', text });
      }
      const usage = { inputTokens: 1, outputTokens: 1 };
      return { parts: [{ type: 'text', text: words.join('') }], finish: 'stop', usage };
    },
  };
  return { model, say: (place: number) => steps[place]!.resolve() };
};

/** Reads the parts of a stream one after another, until a given text has arrived. */
const following = (run: Run, options: Parameters<Run['stream']>[0] = {}) => {
  const stream = run.stream(options);
  const parts: RunPart[] = [];
  return {
    parts,
    until: async (text: string) => {
      while (!textIn(parts).includes(text)) {
        const { done, value } = await stream.next();
        if (done) throw new Error(`the stream ended without ${text}`);
        parts.push(value);
      }
    },
    rest: async () => void parts.push(...(await Array.fromAsync(stream))),
  };
};

test('[RUN32] a reader that joins in the middle of an answer, even with `after`, receives the answer from its beginning', async () => {
  const { model, say } = wordByWord('One, ', 'two.');
  const { session } = await open({ model });
  const run = await session.send('Go');
  const early = following(run);
  say(0);
  await early.until('One, ');
  const late = [following(run), following(run, { after: (await session.summary()).seq })];
  for (const each of late) await each.until('One, ');
  say(1);
  for (const each of [early, ...late]) {
    await each.rest();
    expect(textIn(each.parts)).toBe('One, two.');
    expect(each.parts.at(-1)).toMatchObject({ type: 'end', result: { output: 'One, two.' } });
  }
});

test('[RUN31, RUN32, RUN6] a stream continues when another worker takes over the run, and says that the answer restarts', async () => {
  const database = newMemoryDatabase();
  const { model: first, say } = wordByWord('Broken ', 'off');
  const { model: second, say: sayAgain } = wordByWord('Whole.');
  const options = { worker: false };
  const one = await open({ model: first }, { ...options, store: openMemoryStore(database) });
  const two = await open({ model: second }, { ...options, store: openMemoryStore(database) });
  const worker = one.runtime.worker();
  await worker.start();
  const run = await one.session.send('Go');
  const stream = following(run);
  say(0);
  await stream.until('Broken ');
  await worker.stop();
  await two.runtime.worker().start();
  sayAgain(0);
  await stream.rest();
  expect(course(stream.parts)).toEqual(['started', 'text', 'started', 'restart', 'text', 'message', 'end']);
  const [broken, , restart] = stream.parts.filter(({ type }) => ['text', 'started', 'restart'].includes(type)).slice(1);
  expect(restart).toMatchObject({ message: (broken as { message: string }).message });
  expect(textIn(stream.parts)).toBe('Broken Whole.');
});

test('[RUN31, RUN32] when the model breaks off an answer, the stream says that the answer restarts', async () => {
  let asked = 0;
  const model: Model = {
    name: 'test/breaks',
    contextTokens: 10_000,
    price: null,
    answer: async (_, onDelta) => {
      onDelta({ kind: 'text', text: 'Well' });
      if (asked++ === 0) throw new ModelFailure('broken-stream', 'it was cut');
      return { parts: [{ type: 'text', text: 'Well.' }], finish: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  const { session } = await open({ model });
  const parts = await Array.fromAsync((await session.send('Go')).stream());
  expect(parts.find(({ type }) => type === 'restart')).toMatchObject({ reason: 'it was cut' });
  const since = parts.slice(parts.findIndex(({ type }) => type === 'restart'));
  expect(textIn(since)).toBe('Well.');
});

test('[RUN31] approvals, questions and waits are parts of the stream, which continues when they are over', async () => {
  const guarded = defineTool({ name: 'guarded', input: z.object({}), approval: true, execute: () => 'done' });
  const { session } = await open({
    model: defineScript({
      steps: [
        { calls: [{ tool: 'guarded', input: {} }] },
        { calls: [{ tool: 'guarded', input: {} }] },
        { calls: [{ tool: 'ask', input: {} }] },
        { text: 'Done.' },
      ],
    }),
    tools: [guarded, askTool],
  });
  const run = await session.send('Go');
  const parts: RunPart[] = [];
  let approvals = 0;
  for await (const part of run.stream()) {
    parts.push(part);
    if (part.type === 'approval' && approvals++ === 0) await session.approve(part.approval);
    else if (part.type === 'approval') await session.deny(part.approval, { comment: 'no' });
    if (part.type === 'question') await session.answer(part.callId, 'this one');
  }
  expect(parts.filter(({ type }) => type === 'approval-settled')).toMatchObject([
    { answer: 'approved' },
    { answer: 'denied', comment: 'no' },
  ]);
  const results = parts.flatMap((part) => (part.type === 'tool-results' ? part.results : []));
  expect(results.map(({ outcome }) => outcome)).toEqual(['ok', 'denied', 'ok']);
  expect(typesIn(parts)).toEqual(expect.arrayContaining(['question', 'question-answered', 'resumed']));
  expect(parts.at(-1)).toMatchObject({ type: 'end', result: { status: 'succeeded' } });
});

test('[RUN31, RUN22] an input that joined another run is streamed with it, and the stream of a cancelled run ends with its cancellation', async () => {
  const { model, say } = wordByWord('One.');
  const { session } = await open({ model });
  const run = await session.send('Go');
  const stream = following(run);
  const joining = await session.send('Faster', { policy: 'steer' });
  say(0);
  await stream.until('One.');
  const ends = (await Array.fromAsync(joining.stream())).at(-1);
  expect(ends).toMatchObject({ type: 'end', result: { run: joining.id, status: 'succeeded' } });
  const waiting = await session.send('Later', { notBefore: Date.now() + 3_600_000 });
  const cancelled = Array.fromAsync(waiting.stream());
  await waiting.cancel();
  expect((await cancelled).at(-1)).toMatchObject({ type: 'end', result: { status: 'cancelled' } });
});

test('[RUN32] on SQLite the answer of a worker in another process arrives as a whole, with its message', async () => {
  const store = `sqlite:${newSqliteFile()}`;
  const here = await open(counting, { store, worker: false });
  const elsewhere = await open(counting, { store, worker: false });
  const run = await here.session.send('Go');
  const streaming = Array.fromAsync(run.stream());
  await elsewhere.runtime.worker().start();
  const parts = await streaming;
  expect(parts.filter(({ type }) => type === 'text')).toHaveLength(1);
  expect(textIn(parts)).toBe('One, and then two.');
});

test('[RUN33] a stream that its reader leaves ends immediately and no longer watches the store', async () => {
  const store = openMemoryStore();
  let watching = 0;
  const watch: typeof store.watch = (...given) => {
    const stop = store.watch(...given);
    watching++;
    return () => {
      watching--;
      stop();
    };
  };
  const { model } = wordByWord('One.');
  const { session } = await open({ model }, { store: { ...store, watch }, worker: false });
  const run = await session.send('Go');
  const leaving = new AbortController();
  const signalled = Array.fromAsync(run.stream({ signal: leaving.signal }));
  const returned = run.stream();
  const step = returned.next();
  await expect.poll(() => watching).toBe(1); // both share the tail of the session
  leaving.abort();
  expect(await signalled).toEqual([]);
  await returned.return();
  expect(await step).toMatchObject({ done: true });
  expect(watching).toBe(0);
});

test('[RUN33] pieces that arrive while the reader is busy are joined into one', async () => {
  const words = Array.from({ length: 500 }, (_, n) => `${n} `);
  const { model, say } = wordByWord('First. ', ...words);
  const { session } = await open({ model });
  const run = await session.send('Go');
  const stream = following(run);
  say(0);
  await stream.until('First. ');
  for (const place of words.keys()) say(place + 1);
  await run.result();
  await stream.rest();
  expect(textIn(stream.parts)).toBe(`First. ${words.join('')}`);
  expect(stream.parts.filter(({ type }) => type === 'text').length).toBeLessThan(10);
});
