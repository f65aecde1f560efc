import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ModelFailureKind, modelFailures } from '../../../schema/run.ts';
import { afterAnswer, afterFailure, type ModelTrials, modelToAsk, noTrials, planAfterFailure } from './model-trials.ts';

const names = ['a/a', 'b/b', 'c/c'];
const patience = { names, maxWaitMs: 1000 };
const permanent: readonly ModelFailureKind[] = [
  'unusable',
  'unconfigured',
  'overflow',
  'refused',
  'endless',
  'excluded',
];

/** Plays failures until the run ends. Returns the models that were asked and the waits. */
const play = (kindOf: (model: string, n: number) => ModelFailureKind, start: ModelTrials = noTrials) => {
  let trials = start;
  const asked: string[] = [];
  const waits: number[] = [];
  for (;;) {
    const model = modelToAsk(names, trials);
    asked.push(model);
    const failure = kindOf(model, asked.length);
    const plan = planAfterFailure(patience, trials, { model, failure, overflowed: true }, 0, 2 ** trials.waits);
    if (plan.do === 'fail') return { asked, waits };
    if (plan.do === 'wait') waits.push(plan.ms);
    const retryInMs = plan.do === 'wait' ? plan.ms : undefined;
    const next = plan.do === 'ask-next' ? plan.model : undefined;
    trials = afterFailure(trials, { model, attempt: 1, failure, message: '', retryInMs, next }, 0);
    if (next) expect(modelToAsk(names, trials)).toBe(next);
  }
};

test('[FALL2, FALL5, FALL6] whatever fails how often, each round asks each model once, and the waits are bounded', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...modelFailures), { minLength: 1, maxLength: 40 }), (kinds) => {
      const kindAt = (n: number) => kinds[(n - 1) % kinds.length]!;
      const { asked, waits } = play((_, n) => kindAt(n));
      const waited = waits.reduce((sum, ms) => sum + ms, 0);
      expect(waited).toBeLessThanOrEqual(patience.maxWaitMs);
      expect(asked.length).toBeLessThanOrEqual(names.length * (waits.length + 1));
      const last = kindAt(asked.length);
      const isBarred = (model: string) =>
        asked.some((each, index) => each === model && permanent.includes(kindAt(index + 1)));
      const broken = asked.filter((_, index) => kindAt(index + 1) === 'broken-stream').length;
      expect(last === 'refused' || waited === patience.maxWaitMs || broken >= 5 || names.every(isBarred)).toBe(true);
      for (const name of names.filter(isBarred)) {
        const barredAt = asked.findIndex((each, index) => each === name && permanent.includes(kindAt(index + 1)));
        expect(asked.slice(barredAt + 1)).not.toContain(name);
      }
    }),
  );
});

test('[FALL4] a run stays with the model that answered, and asks the others before it waits', () => {
  const answered = afterAnswer(noTrials, 'b/b');
  expect(modelToAsk(names, answered)).toBe('b/b');
  expect(play(() => 'unavailable', answered).asked.slice(0, 6)).toEqual(['b/b', 'a/a', 'c/c', 'a/a', 'b/b', 'c/c']);
});

test('[FALL4] a crash between the last failure and the end of the run asks one model once more', () => {
  const failed = (model: string) => ({ model, attempt: 1, failure: 'unavailable' as const, message: '' });
  const all = names.reduce((trials, model) => afterFailure(trials, failed(model), 0), noTrials);
  expect(modelToAsk(names, all)).toBe('a/a');
});

test('[FALL4] a model that left the list of the agent is not asked', () => {
  expect(modelToAsk(names, afterAnswer(noTrials, 'gone/gone'))).toBe('a/a');
});

test('[FALL5] the delay is at least the longest that a provider of the round requested, within the stated time', () => {
  const limited = { model: 'a/a', attempt: 1, failure: 'rate-limit', message: '', retryAfterMs: 500 } as const;
  const others = { model: 'b/b', attempt: 1, failure: 'unavailable', message: '' } as const;
  const trials = afterFailure(afterFailure(noTrials, limited, 100), others, 200);
  const last = { model: 'c/c', failure: 'unavailable', overflowed: false } as const;
  expect(planAfterFailure(patience, trials, last, 300, 10)).toEqual({ do: 'wait', ms: 300 });
  const asks = (retryAfterMs: number) => planAfterFailure(patience, trials, { ...last, retryAfterMs }, 300, 10);
  expect(asks(400)).toEqual({ do: 'wait', ms: 400 });
  expect(asks(5000)).toEqual({ do: 'wait', ms: patience.maxWaitMs });
});

test('[FALL14] a run does not wait for a model whose answers always break off', () => {
  expect(play(() => 'broken-stream').asked).toHaveLength(6);
  const answered = afterAnswer({ ...noTrials, broken: 4 }, 'a/a');
  expect(play(() => 'broken-stream', answered).asked).toHaveLength(6);
});
