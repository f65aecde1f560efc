import { describe, expect, test } from 'vitest';
import { emptyState, type State } from '../../../schema/state.ts';
import { diffStates, isEmptyDiff } from './diff.ts';

const withFacts = (facts: unknown): State => ({ ...emptyState, facts: facts as State['facts'] });

describe('a diff of two states', () => {
  test('[DIFF1] tells what was added, dropped and changed, in the order of the ids', () => {
    const before = withFacts({ z: 1, same: { list: [1] }, gone: [1], b: 'old' });
    const after = withFacts({ b: 'new', a: null, same: { list: [1] }, z: 2 });
    const { facts, patch, ...others } = diffStates(before, after);
    expect(facts).toEqual([
      { id: 'a', after: null },
      { id: 'b', before: 'old', after: 'new' },
      { id: 'gone', before: [1] },
      { id: 'z', before: 1, after: 2 },
    ]);
    expect(facts.map((change) => ['before' in change, 'after' in change])).toEqual([
      [false, true],
      [true, true],
      [true, false],
      [true, true],
    ]);
    expect(Object.values(others)).toEqual(Object.keys(others).map(() => []));
    expect(patch).toHaveLength(4);
  });

  test.each(['toString', '__proto__'])('[DIFF1] knows the id %s from what every object has', (id) => {
    const [none, some] = [withFacts({}), withFacts(JSON.parse(`{ "${id}": {} }`))];
    expect(diffStates(none, some).facts).toEqual([{ id, after: {} }]);
    expect(diffStates(some, none).facts).toEqual([{ id, before: {} }]);
    expect(Object.keys(diffStates(none, some).facts[0]!)).toEqual(['id', 'after']);
    expect(Object.keys(diffStates(some, none).facts[0]!)).toEqual(['id', 'before']);
  });

  test('[DIFF1] has the own part apart, and is empty where only objects differ', () => {
    const own = (value: number): State => ({ ...emptyState, own: { count: value } });
    expect(diffStates(own(1), own(2))).toMatchObject({ own: [{ id: 'count', before: 1, after: 2 }], facts: [] });
    expect(isEmptyDiff(diffStates(own(1), own(2)))).toBe(false);
    expect(diffStates(own(1), own(1)).own).toEqual([]);
    expect(isEmptyDiff(diffStates(own(1), own(1)))).toBe(true);
  });
});
