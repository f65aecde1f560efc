import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import type { Model } from '../../src/core/ports/model.ts';
import { defineAgent, openRuntime, type Run, type RunPart } from '../../src/index.ts';
import { serveHttp } from '../../src/servers/http/index.ts';
import { newWakeSignal } from '../../src/testing/contract/waking/wake-signal.ts';
import { createDatabase } from '../support/postgres/postgres.ts';

/** A model that writes one word each time the test asks for it. */
const wordByWord = () => {
  const steps = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  let step = 0;
  const words = ['One, ', 'two, ', 'three.'];
  const model: Model = {
    name: 'test/words',
    contextTokens: 10_000,
    price: null,
    answer: async (_, onDelta) => {
      for (const [place, text] of words.entries()) {
        await steps[place]!.promise;
        onDelta({ kind: 'text', text });
      }
      await steps.at(-1)!.promise;
      const usage = { inputTokens: 1, outputTokens: 1 };
      return { parts: [{ type: 'text', text: words.join('') }], finish: 'stop', usage };
    },
  };
  return { model, goOn: () => steps[step++]!.resolve() };
};

/** Collects the text that a stream has shown, and waits for a given text. */
const looking = (run: Run) => {
  const signal = newWakeSignal();
  const seen: Extract<RunPart, { type: 'text' }>[] = [];
  const text = () => seen.map((each) => each.text).join('');
  const ended = (async () => {
    for await (const part of run.stream()) {
      if (part.type === 'text') seen.push(part);
      signal.wake();
    }
  })();
  const until = async (wanted: string) => {
    while (text().length < wanted.length) await signal.next();
    expect(text()).toBe(wanted);
  };
  return { seen, until, ended };
};

test("[RUN20, HTTP8, RUN32] pieces from another process's worker are shown live, even by a server without a worker, and are not in the log", async () => {
  const database = await createDatabase();
  onTestFinished(database.drop);
  const { model, goOn } = wordByWord();
  const agent = defineAgent({ name: 'writer', version: 1, model });
  const [worker, other] = await Promise.all(
    [1, 2].map(() => openRuntime({ store: database.url, agents: [agent], worker: false })),
  );
  for (const runtime of [worker!, other!]) onTestFinished(() => runtime.close());
  const server = await serveHttp(other!, { port: 0 });
  onTestFinished(() => server.stop());
  const { token } = await other!.keys.create({ member: 'local' });
  await worker!.worker().start();
  const session = await other!.sessions.open({ agent });
  const run = await session.send('Count');
  const early = looking(run);
  goOn();
  await early.until('One, ');
  const remote = await connect({ url: server.url, key: token }).sessions.get(session.id);
  const late = looking(await remote.run(run.id));
  await late.until('One, ');
  goOn();
  for (const look of [early, late]) await look.until('One, two, ');
  expect((await session.transcript()).entries.map(({ message }) => message.role)).toEqual(['user']);
  for (let times = 0; times < 2; times++) goOn();
  expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'One, two, three.' });
  for (const { until, seen, ended } of [early, late]) {
    await ended;
    await until('One, two, three.');
    expect(seen.map(({ offset }) => offset)).toEqual([0, 5, 10]);
  }
});
