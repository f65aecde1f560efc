import fc from 'fast-check';
import { applyPatch, createPatch } from 'rfc6902';
import { describe, expect, test } from 'vitest';
import type { PatchOperation } from '../../../schema/state.ts';
import { applyOperations } from './apply-operations.ts';

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map(plain)
  .filter((value) => !JSON.stringify(value).includes('__proto__'));
const ordinary = fc
  .object({ key: fc.constantFrom('a', 'b', 'c/d', 'e~f', ''), values: [json], maxDepth: 3 })
  .map(plain);

describe('an RFC 6902 patch', () => {
  test('[STATE2] produces the same result as another implementation and does not change its argument', () => {
    fc.assert(
      fc.property(ordinary, ordinary, (before, after) => {
        const patch = createPatch(before, after) as PatchOperation[];
        const kept = plain(before);
        expect(applyOperations(before, patch)).toEqual({ value: after });
        expect(before).toEqual(kept);
        const other = plain(before);
        applyPatch(other, patch as never);
        expect(other).toEqual(after);
      }),
      { numRuns: 300 },
    );
  });

  test('[IN10] repeated copies that double a value are rejected before they exhaust memory', () => {
    const doubling: PatchOperation[] = Array.from({ length: 60 }, (_, at) => ({
      op: 'copy',
      from: '/a',
      path: `/a/${at}`,
    }));
    expect(applyOperations({ a: { x: 'y'.repeat(100) } }, doubling)).toMatchObject({
      failed: { message: 'copy failed: the copies of one patch exceed 16777216 characters' },
    });
    expect(applyOperations({ a: { x: 'y' } }, doubling.slice(0, 3))).toHaveProperty('value');
  });

  test('[STATE1] fails as the RFC says, and names the path of the operation', () => {
    const value = { list: [1, 2], record: { a: 1 }, text: 'x' };
    const refused: PatchOperation[] = [
      { op: 'add', path: '/list/3', value: 0 },
      { op: 'add', path: '/list/01', value: 0 },
      { op: 'add', path: '/none/a', value: 0 },
      { op: 'add', path: '/text/a', value: 0 },
      { op: 'remove', path: '/record/b' },
      { op: 'remove', path: '/list/-' },
      { op: 'remove', path: '' },
      { op: 'replace', path: '/record/b', value: 0 },
      { op: 'replace', path: '/record/toString', value: 0 },
      { op: 'test', path: '/record', value: { a: 2 } },
      { op: 'move', from: '/record', path: '/record/inner' },
      { op: 'copy', from: '/none', path: '/record/b' },
    ];
    for (const operation of refused) {
      expect(applyOperations(value, [operation]), operation.path).toMatchObject({ failed: { path: operation.path } });
    }
    expect(
      applyOperations(value, [
        { op: 'add', path: '/list/-', value: 3 },
        { op: 'move', from: '/record/a', path: '/record/b' },
        { op: 'copy', from: '/list', path: '/copy' },
        { op: 'test', path: '/copy/2', value: 3 },
      ]),
    ).toEqual({ value: { list: [1, 2, 3], record: { b: 1 }, text: 'x', copy: [1, 2, 3] } });
  });

  test('[STATE6] changing a copied or twice-added value leaves its other occurrence unchanged', () => {
    const value = { a: { list: [1] } };
    const given = { x: 1 };
    expect(
      applyOperations(value, [
        { op: 'add', path: '/a/list/-', value: 2 },
        { op: 'copy', from: '/a', path: '/b' },
        { op: 'add', path: '/b/list/-', value: 3 },
        { op: 'move', from: '/a', path: '/c' },
        { op: 'remove', path: '/c/list/0' },
        { op: 'add', path: '/d', value: given },
        { op: 'add', path: '/e', value: given },
        { op: 'replace', path: '/d/x', value: 2 },
      ]),
    ).toEqual({ value: { b: { list: [1, 2, 3] }, c: { list: [2] }, d: { x: 2 }, e: { x: 1 } } });
    expect([value, given]).toEqual([{ a: { list: [1] } }, { x: 1 }]);
  });

  test('[STATE6] the result is deeply frozen, including added, copied and moved values', () => {
    const isFrozen = (value: unknown): boolean =>
      value === null || typeof value !== 'object' || (Object.isFrozen(value) && Object.values(value).every(isFrozen));
    const result = applyOperations(Object.freeze({ kept: Object.freeze({ list: Object.freeze([1]) }) }), [
      { op: 'add', path: '/added', value: { deep: [{}] } },
      { op: 'copy', from: '/added', path: '/copied' },
      { op: 'add', path: '/copied/deep/-', value: [] },
      { op: 'move', from: '/copied/deep', path: '/moved' },
      { op: 'add', path: '/moved/0/late', value: {} },
      { op: 'replace', path: '/kept/list/0', value: { new: {} } },
    ]);
    expect(result).toEqual({
      value: {
        kept: { list: [{ new: {} }] },
        added: { deep: [{}] },
        copied: {},
        moved: [{ late: {} }, []],
      },
    });
    expect(isFrozen((result as { value: unknown }).value)).toBe(true);
  });
});
