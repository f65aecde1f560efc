import { describe, expect, test } from 'vitest';
import { emptyState, type State } from '../../../schema/state.ts';
import { diffStates, isEmptyDiff } from './diff.ts';

const withFacts = (facts: unknown): State => ({ ...emptyState, facts: facts as State['facts'] });

describe('a diff of two states', () => {
  test('[DIFF1] lists added, removed and changed entries, sorted by id', () => {
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

  test.each(['toString', '__proto__'])(
    '[DIFF1] treats the id %s as an entry, not as a property that every object inherits',
    (id) => {
      const [none, some] = [withFacts({}), withFacts(JSON.parse(`{ "${id}": {} }`))];
      expect(diffStates(none, some).facts).toEqual([{ id, after: {} }]);
      expect(diffStates(some, none).facts).toEqual([{ id, before: {} }]);
      expect(Object.keys(diffStates(none, some).facts[0]!)).toEqual(['id', 'after']);
      expect(Object.keys(diffStates(some, none).facts[0]!)).toEqual(['id', 'before']);
    },
  );

  test('[DIFF1] lists the own part separately, and is empty for equal values in different objects', () => {
    const own = (value: number): State => ({ ...emptyState, own: { count: value } });
    expect(diffStates(own(1), own(2))).toMatchObject({ own: [{ id: 'count', before: 1, after: 2 }], facts: [] });
    expect(isEmptyDiff(diffStates(own(1), own(2)))).toBe(false);
    expect(diffStates(own(1), own(1)).own).toEqual([]);
    expect(isEmptyDiff(diffStates(own(1), own(1)))).toBe(true);
  });
});
