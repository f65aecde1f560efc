import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyState, type State } from '../../../schema/state.ts';
import { applyOperations } from './apply-operations.ts';
import { diffStates } from './diff.ts';
import { isSameJson, patchBetween } from './patch-between.ts';
import { changeState } from './state-change.ts';

const item = fc.oneof(fc.nat({ max: 3 }), fc.record({ id: fc.nat({ max: 3 }), of: fc.array(fc.nat({ max: 2 })) }));
const longItem = (id: number) => ({ id, text: `item ${id}`, tags: ['a', { of: id }] });
const longList = (length: number) => Array.from({ length }, (_, id) => longItem(id));
const listed = (list: unknown[]): State => ({ ...emptyState, facts: { list: list as never } });

const milliseconds = (work: () => unknown): number => {
  const start = performance.now();
  work();
  return performance.now() - start;
};

describe('a patch between two values', () => {
  test('[STATE2, DIFF1] turns the first value into the second', () => {
    fc.assert(
      fc.property(fc.array(item), fc.array(item), (before, after) => {
        expect(applyOperations(before, patchBetween(before, after))).toEqual({ value: after });
      }),
      { numRuns: 500 },
    );
  });

  test('[STATE9, DIFF1] between long lists is found in bounded time, for any edits and at any depth', () => {
    const edit = fc.record({ at: fc.nat(), remove: fc.nat({ max: 40 }), add: fc.nat({ max: 40 }) });
    fc.assert(
      fc.property(fc.integer({ min: 500, max: 3000 }), fc.array(edit, { maxLength: 5 }), (length, edits) => {
        const before = longList(length);
        const after = structuredClone(before);
        for (const { at, remove, add } of edits) {
          after.splice(at % length, remove, ...longList(add).map((each) => ({ ...each, text: 'new' })));
        }
        const nested = [{ deep: { list: before } }, { deep: { list: after } }] as const;
        expect(milliseconds(() => patchBetween(...nested))).toBeLessThan(1000);
        expect(applyOperations(nested[0], patchBetween(...nested))).toEqual({ value: nested[1] });
      }),
      { numRuns: 30 },
    );
  });

  test.each([300, 2000, 20_000])(
    '[STATE2, DIFF1] for a push to a list of %i items is one operation, in a commit and in a diff',
    (length) => {
      const before = changeState(emptyState, [{ op: 'add', path: '/facts/list', value: longList(length) }]).state;
      const push = () => changeState(before, (draft) => (draft.facts.list as unknown[]).push(longItem(-1)));
      expect(milliseconds(push)).toBeLessThan(2000);
      const { delta, state } = push();
      expect(delta.map(({ op, path }) => [op, path])).toEqual([
        ['test', '/facts/list'],
        ['add', `/facts/list/${length}`],
      ]);
      expect(milliseconds(() => diffStates(before, state))).toBeLessThan(2000);
      expect(diffStates(before, state).patch).toHaveLength(1);
    },
  );

  test('[STATE2] between short lists has the minimum number of edits', () => {
    const edits = (old: readonly number[], now: readonly number[]): number => {
      if (old.length === 0 || now.length === 0) return old.length + now.length;
      const [[first, ...rest], [next, ...others]] = [old, now];
      if (first === next) return edits(rest, others);
      return 1 + Math.min(edits(rest, others), edits(rest, now), edits(old, others));
    };
    const list = fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 6 });
    fc.assert(fc.property(list, list, (old, now) => patchBetween(old, now).length === edits(old, now)));
  });

  test('[STATE2] for a list that is emptied or filled with thousands of items is one operation', () => {
    expect(patchBetween({ a: [1, 2, 3] }, { a: [] })).toEqual([{ op: 'replace', path: '/a', value: [] }]);
    const many = Array.from({ length: 3000 }, (_, index) => index);
    expect(patchBetween([], many)).toEqual([{ op: 'replace', path: '', value: many }]);
  });

  test('[STATE2] does not confuse the key __proto__ with the inherited property', () => {
    expect(isSameJson(JSON.parse('{ "__proto__": {} }'), { a: 1 })).toBe(false);
  });

  test('[STATE2] handles records without a prototype', () => {
    const now = Object.assign(Object.create(null), { a: 1, b: 3 });
    expect(patchBetween({ a: 1, b: 2 }, now)).toEqual([{ op: 'replace', path: '/b', value: 3 }]);
  });

  test('[STATE9] replaces a long list that changed throughout as a whole', () => {
    const [before, after] = [longList(2000), longList(2000).map((each) => ({ ...each, text: 'new' }))];
    expect(diffStates(listed(before), listed(after)).patch).toEqual([
      { op: 'replace', path: '/facts/list', value: after },
    ]);
  });

  test('[STATE2] replaces the whole entry if a path would be too long to store', () => {
    const key = 'k'.repeat(1999);
    const { state } = changeState(emptyState, [{ op: 'add', path: '/facts/x', value: { [key]: 1, other: 1 } }]);
    const { delta } = changeState(state, (draft) => Object.assign(draft.facts.x as object, { [key]: 2 }));
    expect(delta).toEqual([{ op: 'replace', path: '/facts/x', value: { [key]: 2, other: 1 } }]);
  });
});
