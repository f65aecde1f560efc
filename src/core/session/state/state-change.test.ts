import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PerdureError } from '../../../schema/error.ts';
import { pointerOf } from '../../../schema/pointer.ts';
import { emptyState, type PatchOperation, type State } from '../../../schema/state.ts';
import { ledgerProblems } from '../runs/ledger-problems.ts';
import { diffStates } from './diff.ts';
import { applyDelta, changeState, type StateDraft } from './state-change.ts';
import { entriesTouched } from './touched-paths.ts';

const id = fc.constantFrom('a', 'b', 'c/d', 'e~f', '__proto__', 'x__proto__', 'constructor', '');
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)))
  .filter((value) => !JSON.stringify(value).includes('__proto__'));
const part = fc.constantFrom('facts', 'scratch', 'own' as const);

type Step =
  | { readonly do: 'set'; readonly part: 'facts' | 'scratch' | 'own'; readonly id: string; readonly value: unknown }
  | { readonly do: 'delete'; readonly part: 'facts' | 'scratch' | 'own'; readonly id: string }
  | {
      readonly do: 'list';
      readonly id: string;
      readonly at: number;
      readonly remove: number;
      readonly insert: unknown[];
    }
  | { readonly do: 'replace'; readonly value: Record<string, unknown> };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('set' as const),
    part: part as fc.Arbitrary<'facts' | 'scratch' | 'own'>,
    id,
    value: json,
  }),
  fc.record({ do: fc.constant('delete' as const), part: part as fc.Arbitrary<'facts' | 'scratch' | 'own'>, id }),
  fc.record({
    do: fc.constant('list' as const),
    id,
    at: fc.nat({ max: 4 }),
    remove: fc.nat({ max: 3 }),
    insert: fc.array(json, { maxLength: 3 }),
  }),
  fc.record({
    do: fc.constant('replace' as const),
    value: fc.dictionary(id, json, { maxKeys: 4, noNullPrototype: true }),
  }),
);

const set = (record: object, key: string, value: unknown) =>
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });

const perform = (draft: StateDraft, each: Step): void => {
  switch (each.do) {
    case 'set':
      if (each.id !== '__proto__') draft[each.part][each.id] = each.value as never;
      return;
    case 'delete':
      delete draft[each.part][each.id];
      return;
    case 'list': {
      const list = Object.hasOwn(draft.own, each.id) ? draft.own[each.id] : undefined;
      if (Array.isArray(list)) list.splice(each.at, each.remove, ...each.insert);
      else if (each.id !== '__proto__') draft.own[each.id] = each.insert as never;
      return;
    }
    case 'replace': {
      const facts: Record<string, never> = {};
      for (const [key, value] of Object.entries(each.value)) if (key !== '__proto__') set(facts, key, value);
      draft.facts = facts;
    }
  }
};

const performAll = (draft: StateDraft, all: readonly Step[]): void => {
  for (const each of all) perform(draft, each);
};

type Entry = { x: number; inner: { y: number; was?: Entry } } | { x: number }[];
type Act = (state: StateDraft) => void;
const place = fc.record({
  part: part as fc.Arbitrary<'facts' | 'scratch' | 'own'>,
  id: fc.constantFrom('a', 'b', 'c'),
});
const entryAt = (state: StateDraft, { part, id }: { part: 'facts' | 'scratch' | 'own'; id: string }) =>
  state[part][id] as unknown as Entry | undefined;

/**
 * Everything that a caller may do with a draft, including sharing a part between two places, moving it, and changing it
 * later.
 */
const act: fc.Arbitrary<Act> = fc
  .record({
    from: place,
    to: place,
    value: fc.oneof(
      fc.record({ x: fc.nat(), inner: fc.record({ y: fc.nat() }) }),
      fc.array(fc.record({ x: fc.nat() }), { minLength: 1, maxLength: 3 }),
    ),
    kind: fc.constantFrom('set', 'unset', 'delete', 'edit', 'share', 'wrap', 'move', 'swap', 'rebuild'),
  })
  .map(({ from, to, value, kind }) => (state) => {
    const [source, target] = [entryAt(state, from), state[to.part] as Record<string, unknown>];
    if (kind === 'set') target[to.id] = structuredClone(value);
    if (kind === 'unset') target[to.id] = undefined;
    if (kind === 'delete') delete target[to.id];
    if (kind === 'swap') [state[from.part], state[to.part]] = [state[to.part], state[from.part]];
    if (kind === 'rebuild') state[to.part] = { ...state[to.part] };
    if (source === undefined) return;
    if (kind === 'edit' && Array.isArray(source)) source.push(source.shift()!, { x: 0 });
    else if (kind === 'edit' && 'inner' in source) source.inner.y++;
    if (kind === 'share' || kind === 'move') target[to.id] = source;
    if (kind === 'wrap') target[to.id] = { x: 1, inner: { y: 1, was: source } };
    if (kind === 'move' && state[from.part] !== target) delete state[from.part][from.id];
  });

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
const play = (steps: readonly (readonly Step[])[]): State =>
  steps.reduce((state, each) => changeState(state, (draft) => performAll(draft, each)).state, emptyState);
const steps = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 8 });

describe('a change of the state', () => {
  test('[STATE2, STATE3] its delta produces the new state and its inverse the old one, for any key names', () => {
    fc.assert(
      fc.property(steps, fc.array(step, { minLength: 1, maxLength: 4 }), (history, last) => {
        const before = play(history);
        const { state, delta, inverse } = changeState(before, (draft) => performAll(draft, last));
        expect(plain(applyDelta(before, [...delta]))).toEqual(plain(state));
        expect(plain(applyDelta(state, inverse))).toEqual(plain(before));
      }),
      { numRuns: 300 },
    );
  });

  test('[STATE2, STATE6] a draft behaves like a plain mutable state, also if one part is put into another', () => {
    fc.assert(
      fc.property(fc.array(fc.array(act, { maxLength: 6 }), { maxLength: 4 }), (commits) => {
        commits.reduce((before, acts) => {
          const model = structuredClone(before) as StateDraft;
          for (const each of acts) each(model);
          const { state, delta } = changeState(before, (draft) => {
            for (const each of acts) each(draft);
          });
          expect(plain(state)).toEqual(plain(model));
          expect(applyDelta(before, [...delta])).toEqual(state);
          return state;
        }, emptyState);
      }),
      { numRuns: 1000 },
    );
  });

  test('[STATE2, STATE6] the new state holds no draft objects, undefined values or negative zeros', () => {
    const before = changeState(emptyState, (draft) => Object.assign(draft.scratch, { k: 1, gone: 2, zero: 0 })).state;
    const mine: { all?: unknown } = {};
    const { state, inverse } = changeState(before, (draft) => {
      Object.assign(draft.facts, { mine });
      mine.all = draft.scratch;
      Object.assign(draft.scratch, { k: 2, zero: -0 });
      Object.assign(draft.own, { here: 1, never: undefined });
      delete draft.scratch.gone;
      Object.assign(draft.facts, { copy: draft.scratch });
    });
    const scratch = { k: 2, zero: 0 };
    expect(state).toStrictEqual({
      ...emptyState,
      scratch,
      own: { here: 1 },
      facts: { mine: { all: scratch }, copy: scratch },
    });
    expect(before.scratch).toStrictEqual({ k: 1, gone: 2, zero: 0 });
    expect(applyDelta(state, inverse)).toStrictEqual(before);
    expect(Object.isFrozen(state.scratch)).toBe(true);
  });

  test('[STATE2] the delta names exactly the entries that differ', () => {
    fc.assert(
      fc.property(steps, fc.array(step, { minLength: 1, maxLength: 4 }), (history, last) => {
        const before = play(history);
        const { state, delta } = changeState(before, (draft) => performAll(draft, last));
        const diff = diffStates(before, state);
        const differing = (['facts', 'scratch', 'own'] as const).flatMap((name) =>
          diff[name].map((change) => pointerOf(name, change.id)),
        );
        expect(entriesTouched(delta).toSorted()).toEqual(differing.toSorted());
      }),
      { numRuns: 300 },
    );
  });

  test('[DIFF1] the patch of a diff turns the first state into the second', () => {
    fc.assert(
      fc.property(steps, steps, (one, other) => {
        const [a, b] = [play(one), play(other)];
        const { patch } = diffStates(a, b);
        expect(plain(applyDelta(a, patch))).toEqual(plain(b));
      }),
      { numRuns: 200 },
    );
  });

  test('[STATE2] inserting into a long list is one operation', () => {
    const list = Array.from({ length: 200 }, (_, index) => `item ${index}`);
    const before = changeState(emptyState, (draft) => Object.assign(draft.own, { list })).state;
    const { delta } = changeState(before, (draft) => (draft.own.list as unknown as string[]).unshift('first'));
    expect(delta.map(({ op, path }) => [op, path])).toEqual([
      ['test', '/own/list'],
      ['add', '/own/list/0'],
    ]);
  });

  test('[STATE2] the delta first tests the lists that it changes, at any depth', () => {
    const facts = { hosts: { open: [1, 2], names: [{ tags: ['a'] }] } };
    const before = changeState(emptyState, (draft) => Object.assign(draft.facts, facts)).state;
    const { delta, inverse } = changeState(before, (draft) => {
      const { open, names } = draft.facts.hosts as unknown as { open: number[]; names: { tags: string[] }[] };
      open.push(3);
      names[0]!.tags.push('b');
    });
    expect(delta).toEqual([
      { op: 'test', path: '/facts/hosts/open', value: [1, 2] },
      { op: 'test', path: '/facts/hosts/names', value: [{ tags: ['a'] }] },
      { op: 'add', path: '/facts/hosts/open/2', value: 3 },
      { op: 'add', path: '/facts/hosts/names/0/tags/1', value: 'b' },
    ]);
    expect(inverse.slice(0, 2)).toEqual([
      { op: 'test', path: '/facts/hosts/open', value: [1, 2, 3] },
      { op: 'test', path: '/facts/hosts/names', value: [{ tags: ['a', 'b'] }] },
    ]);
  });

  test('[STATE2] an entry is replaced as a whole if a path into it would be too long', () => {
    const [id, key] = ['x'.repeat(1500), 'y'.repeat(600)];
    const before = changeState(emptyState, (draft) => Object.assign(draft.facts, { [id]: { [key]: 1 } })).state;
    const { delta, inverse } = changeState(before, (draft) => Object.assign(draft.facts[id] as object, { [key]: 2 }));
    expect(delta).toEqual([{ op: 'replace', path: `/facts/${id}`, value: { [key]: 2 } }]);
    expect(inverse).toEqual([{ op: 'replace', path: `/facts/${id}`, value: { [key]: 1 } }]);
  });

  test('[STATE3] a delta that was computed on one state can be applied to another', () => {
    const { delta } = changeState(emptyState, (draft) => Object.assign(draft.facts, { mine: 1 }));
    const moved = changeState(emptyState, (draft) => Object.assign(draft.facts, { theirs: 2 })).state;
    expect(applyDelta(moved, delta).facts).toEqual({ mine: 1, theirs: 2 });
  });

  test('[STATE1] the message lists the first few problems, the details list all', () => {
    const wrong = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`k${index}`, () => {}]));
    const refused = (() => {
      try {
        return changeState(emptyState, (draft) => Object.assign(draft.facts, wrong));
      } catch (error) {
        return error as PerdureError;
      }
    })() as PerdureError;
    expect(refused.details.problems).toHaveLength(7);
    expect(refused.message).toContain('/facts/k4');
    expect(refused.message).not.toContain('/facts/k5');
  });

  test('[STATE9] a change of ten thousand entries takes time linear in their number', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `id-${index}`);
    const { state, delta } = changeState(emptyState, (draft) => {
      for (const id of ids) draft.facts[id] = id;
    });
    expect(delta).toHaveLength(ids.length);
    const patch = ids.map((id) => ({ op: 'remove', path: pointerOf('facts', id) }) as const);
    expect(changeState(state, patch).state).toEqual(emptyState);
  });

  test('[STATE1] the problem names the collection that a patch removes, whatever else the patch does', () => {
    const tries: [string, string][] = [
      ['pins', 'facts'],
      ['facts', 'pins'],
    ];
    for (const [gone, other] of tries) {
      const { state, delta } = changeState(emptyState, [
        { op: 'remove', path: pointerOf(gone) },
        { op: 'add', path: pointerOf(other, 'b'), value: true },
      ]);
      expect(ledgerProblems(state, delta)).toMatchObject([{ path: pointerOf(gone) }]);
    }
  });

  test('[STATE1] a hostile path is rejected and changes no prototype', () => {
    const hostile: PatchOperation[] = [
      { op: 'add', path: '/__proto__/polluted', value: true },
      { op: 'add', path: '/facts/__proto__/polluted', value: true },
      { op: 'add', path: '/constructor/prototype/polluted', value: true },
      { op: 'replace', path: '/facts/none/deeper', value: 1 },
      { op: 'move', from: '/facts/none', path: '/facts/x' },
    ];
    for (const operation of hostile) {
      const result = (() => {
        try {
          const { state, delta } = changeState(emptyState, [operation]);
          return ledgerProblems(state, delta).length === 0 && delta.length > 0 ? 'accepted' : 'refused';
        } catch (error) {
          return (error as { code?: string }).code;
        }
      })();
      expect(['STATE_INVALID', 'refused'], operation.path).toContain(result);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    }
  });
});
