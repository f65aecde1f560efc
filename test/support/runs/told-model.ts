import type { Model, ModelAnswer, ModelDelta, ModelRequest, Price } from '../../../src/core/ports/model.ts';

/** One answer that the test writes piece by piece. */
export interface ToldAnswer {
  readonly request: ModelRequest;
  say(text: string, kind?: ModelDelta['kind']): void;
  /** Completes the answer with everything that was said. */
  end(): void;
  fail(error: unknown): void;
}

export interface ToldModel {
  readonly model: Model;
  /** Waits for the next request of a run. */
  next(): Promise<ToldAnswer>;
}

const usage = { inputTokens: 100, outputTokens: 10, usd: 0.5 };

/** A model whose answers are written by the test, while the run waits for them. */
export const toldModel = (price: Price | null = { input: 1, output: 10 }): ToldModel => {
  const asked: ToldAnswer[] = [];
  const waiting: ((answer: ToldAnswer) => void)[] = [];
  const answer = (request: ModelRequest, onDelta: (delta: ModelDelta) => void): Promise<ModelAnswer> => {
    const { promise, resolve, reject } = Promise.withResolvers<ModelAnswer>();
    const said = new Map<'text' | 'reasoning', string>();
    const told: ToldAnswer = {
      request,
      say: (text, kind = 'text') => {
        if (kind !== 'tool-input') said.set(kind, (said.get(kind) ?? '') + text);
        onDelta({ kind, text });
      },
      end: () => resolve({ parts: [...said].map(([type, text]) => ({ type, text })), finish: 'stop', usage }),
      fail: reject,
    };
    request.signal.addEventListener('abort', () => reject(request.signal.reason));
    const next = waiting.shift();
    if (next) next(told);
    else asked.push(told);
    return promise;
  };
  return {
    model: { name: 'told/model', contextTokens: 100_000, price, answer },
    next: () => {
      const known = asked.shift();
      return known ? Promise.resolve(known) : new Promise((resolve) => waiting.push(resolve));
    },
  };
};
