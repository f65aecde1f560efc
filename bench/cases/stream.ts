import type { Model, ModelDelta } from '../../src/core/ports/model.ts';
import type { Runtime } from '../../src/index.ts';
import type { Bench } from '../bench-case.ts';
import { type Figure, show } from '../figure.ts';
import { median, timeOf } from '../statistics.ts';

const tokens = 2000;
const token = 'word';

/**
 * A model that streams its answer as fast as it can, which is the worst case: the run has no time to store pieces
 * meanwhile. Pieces of the kind `tool-input` are shown in the same way, but not stored before the answer is whole.
 */
const streamingModel = (name: string, kind: ModelDelta['kind']): Model => ({
  name: `bench/${name}`,
  contextTokens: 100_000,
  price: { input: 0, output: 0 },
  answer: async (_request, onDelta) => {
    for (let count = 0; count < tokens; count++) {
      onDelta({ kind, text: token });
      if (count % 10 === 9) await new Promise(setImmediate);
    }
    return {
      parts: [{ type: 'text', text: token.repeat(tokens) }],
      finish: 'stop',
      usage: { inputTokens: 10, outputTokens: tokens, usd: 0 },
    };
  },
});

/** Compares an answer whose pieces are stored with one whose pieces are only shown, in alternating rounds. */
export const streamedAnswer = async (bench: Bench): Promise<Figure> => {
  const place = await bench.engine.newPlace();
  const { defineAgent, openRuntime } = bench.library;
  const agents = (['text', 'tool-input'] as const).map((kind) =>
    defineAgent({ name: kind, version: 1, model: streamingModel(kind, kind) }),
  );
  const runtime: Runtime = await openRuntime({ store: place.address, agents, worker: false });
  await runtime.worker().start();
  const answersPerRound = 20;
  /** The times of one round. Single answers alternate too, so that noise affects both alike. */
  const round = async (): Promise<readonly number[]> => {
    const sessions = await Promise.all(agents.map((agent) => runtime.sessions.open({ agent })));
    const times: number[][] = sessions.map(() => []);
    for (let count = 0; count < answersPerRound; count++) {
      const order = [...sessions.entries()];
      for (const [index, session] of count % 2 === 0 ? order : order.toReversed()) {
        times[index]!.push(await timeOf(async () => (await session.send('Go')).waitForEnd()));
      }
    }
    return times.map(median);
  };
  await round();
  const rounds: (readonly number[])[] = [];
  for (let count = 0; count < 5; count++) rounds.push(await round());
  await runtime.close();
  await place.remove();
  const [stored, shown] = agents.map((_, index) => median(rounds.map((times) => times[index]!))) as [number, number];
  return {
    name: `an answer of ${tokens} tokens whose pieces are stored, against one whose pieces are only shown`,
    value: stored / shown,
    unit: 'x',
    target: { atMost: 1.25 },
    detail: `${show(stored, 'ms')} against ${show(shown, 'ms')} an answer, streamed as fast as possible`,
  };
};
