import { create, isDraft } from 'mutative';
import { PerdureError } from '../../../schema/error.ts';
import type { Json } from '../../../schema/json.ts';
import { jsonProblem, textProblem } from '../../../schema/json-problem.ts';
import { pointerOf, segmentsOfPointer } from '../../../schema/pointer.ts';
import {
  type Collection,
  collections,
  maxPointerChars,
  type OwnState,
  type PatchOperation,
  type State,
  type StoredOperation,
} from '../../../schema/state.ts';
import { nothingSecret, type Redactor } from '../redaction/redact.ts';
import { applyOperations, type Container, put, type Spares } from './apply-operations.ts';
import { isRecord, isSameJson, patchBetween, type Values } from './patch-between.ts';

type LedgerDraft = { -readonly [Part in Collection]: Record<string, State[Part][string]> };

/** The mutable state that a caller's function receives. `facts`, `scratch` and an `own` without a schema accept any JSON. */
export interface StateDraft<Own = OwnState> extends LedgerDraft {
  own: { -readonly [Key in keyof Own]: Own[Key] };
}
export type Mutation<Own = OwnState> = (draft: StateDraft<Own>) => unknown;

export interface StateChange {
  readonly state: State;
  readonly delta: StoredOperation[];
  readonly inverse: StoredOperation[];
}

export interface StateProblem {
  readonly path: string;
  readonly message: string;
}

export const stateInvalid = (problems: readonly StateProblem[]): PerdureError =>
  new PerdureError(
    'STATE_INVALID',
    `the state would not be valid: ${problems
      .slice(0, 5)
      .map(({ path, message }) => `${path.slice(0, 200) || '/'}: ${message}`)
      .join('; ')}; nothing was committed`,
    { details: { problems } },
  );

type Path = readonly unknown[];

/** Narrows the type of `create`, because the library's own types recurse endlessly on JSON. */
const produce = create as unknown as (
  base: State,
  mutate: (draft: StateDraft) => void,
  options: { readonly enablePatches: true },
) => readonly [state: State, patches: readonly { readonly path: Path }[]];

export const valueAt = (state: State, pointer: string): unknown =>
  segmentsOfPointer(pointer).reduce<unknown>(
    (value, segment) =>
      value !== null && typeof value === 'object' && Object.hasOwn(value, segment)
        ? (value as Record<string, unknown>)[segment]
        : undefined,
    state,
  );

/** The path of the first array on a path. The array's content decides which item an index means. */
const arrayOn = (value: unknown, segments: readonly string[]): readonly string[] | undefined => {
  let here = value;
  for (const [depth, segment] of segments.entries()) {
    if (Array.isArray(here)) return segments.slice(0, depth);
    here = isRecord(here) && Object.hasOwn(here, segment) ? here[segment] : undefined;
  }
  return undefined;
};

/** The minimal operations between two values of an entry. Each changed array is first tested for its previous value. */
const entryDelta = (entry: string, before: unknown, after: unknown): readonly StoredOperation[] => {
  const operations = patchBetween(before, after);
  if (operations.some(({ path }) => entry.length + path.length > maxPointerChars)) {
    return [{ op: 'replace', path: entry, value: after as Json }];
  }
  const arrays = new Map(
    operations.flatMap(({ path }) => {
      const array = arrayOn(before, segmentsOfPointer(path));
      return array ? [[pointerOf(...array), array] as const] : [];
    }),
  );
  const tests = [...arrays].map(([path, segments]) => ({
    op: 'test' as const,
    path: entry + path,
    value: segments.reduce<unknown>((value, segment) => (value as Values)[segment], before) as Json,
  }));
  return [...tests, ...operations.map((operation) => ({ ...operation, path: entry + operation.path }))];
};

/** The values at a path before and after. Undefined means absent. */
interface Difference {
  readonly path: string;
  readonly old: unknown;
  readonly now: unknown;
}

const ownValue = (values: Values, key: string): unknown => (Object.hasOwn(values, key) ? values[key] : undefined);

/**
 * The touched keys whose values differ. A path that ends at this level touches all keys. An undefined value is treated
 * as absent.
 */
const keysThatDiffer = (old: Values, now: Values, touched: readonly Path[]): readonly string[] => {
  const next = touched.map(([key]) => key);
  const keys = next.includes(undefined) ? [...Object.keys(old), ...Object.keys(now)] : next;
  return [...new Set(keys)].filter(
    (key): key is string => typeof key === 'string' && ownValue(old, key) !== ownValue(now, key),
  );
};

/** Compares only the touched entries, because a change touches few entries. */
const differencesBetween = (before: State, { state, touched }: Wanted): readonly Difference[] => {
  const [all, wanted] = [before, state] as unknown as readonly [Values, Values];
  return keysThatDiffer(all, wanted, touched).flatMap((part): readonly Difference[] => {
    const [old, now] = [ownValue(all, part), ownValue(wanted, part)];
    if (!isRecord(old) || !isRecord(now)) return [{ path: pointerOf(part), old, now }];
    const within = touched.filter(([first]) => first === undefined || first === part).map(([, ...rest]) => rest);
    return keysThatDiffer(old, now, within).map((id) => ({
      path: pointerOf(part, id),
      old: ownValue(old, id),
      now: ownValue(now, id),
    }));
  });
};

const operationsFor = (path: string, from: unknown, to: unknown): readonly StoredOperation[] => {
  if (to === undefined) return [{ op: 'remove', path }];
  if (from === undefined) return [{ op: 'add', path, value: to as Json }];
  return entryDelta(path, from, to);
};

/** The state that a caller requests, which may share objects with the caller, and all paths at which it may differ. */
interface Wanted {
  readonly state: State;
  readonly touched: readonly Path[];
}

export const isOfWaiting = (path: string): boolean => segmentsOfPointer(path)[0] === 'waiting';
export const waitingIsView = 'waiting is computed when the state is read: no commit can use or change it';

const patched = (before: State, operations: readonly PatchOperation[]): Wanted => {
  const named = operations.flatMap((each) => ('from' in each ? [each.from, each.path] : [each.path]));
  const views = named.filter(isOfWaiting).map((path) => ({ path, message: waitingIsView }));
  if (views.length > 0) throw stateInvalid(views);
  const result = applyOperations(before, operations);
  if ('failed' in result) throw stateInvalid([result.failed]);
  const paths = operations.flatMap((each) => (each.op === 'move' ? [each.from, each.path] : [each.path]));
  return { state: result.value as State, touched: paths.map(segmentsOfPointer) };
};

/**
 * Whether the function returned a new state, as a reducer would, which is an error. Returning the draft or the value
 * of an assignment is allowed.
 */
const isOtherState = (returned: unknown): boolean =>
  typeof returned === 'object' &&
  returned !== null &&
  !isDraft(returned) &&
  collections.every((collection) => Object.hasOwn(returned, collection));

const mutated = (before: State, mutation: Mutation): Wanted => {
  const mutate = (draft: StateDraft): void => {
    const returned = mutation(draft);
    if (isOtherState(returned)) {
      throw new PerdureError('INVALID_INPUT', 'a commit function must change the draft: a returned state is ignored');
    }
    if (!(returned instanceof Promise)) return;
    returned.catch(() => undefined);
    throw new PerdureError('INVALID_INPUT', 'a commit function must be synchronous: await first, then commit');
  };
  const [state, patches] = produce(before, mutate, { enablePatches: true });
  return { state, touched: patches.map(({ path }) => path) };
};

const keyProblem = (path: string): string | undefined => {
  if (path.length > maxPointerChars)
    return `the key makes a path of over ${maxPointerChars} characters: choose a shorter one`;
  return path.endsWith('/__proto__') ? '__proto__ cannot be a key: choose another name' : textProblem(path);
};

const problemsOf = ({ path, now }: Difference): readonly StateProblem[] => {
  if (now === undefined) return [];
  const wrongKey = keyProblem(path);
  if (wrongKey) return [{ path, message: wrongKey }];
  const wrong = jsonProblem(now);
  return wrong ? [{ path: path + pointerOf(...wrong.path.map(String)), message: wrong.message }] : [];
};

/** Runs the caller's function or patch. */
const wantedState = (before: State, change: Mutation | readonly PatchOperation[]): Wanted => {
  const wanted = typeof change === 'function' ? mutated(before, change) : patched(before, change);
  if (!isRecord(wanted.state)) throw stateInvalid([{ path: '', message: 'expected a state' }]);
  return wanted;
};

/**
 * The resulting state of each delta made here. Deciding a commit already computes it, so the fold need not apply the
 * delta again.
 */
const known = new WeakMap<readonly StoredOperation[], { readonly from: State; readonly to: State }>();

/** Applies a stored delta. The result is deeply frozen, so that it is safe to share. */
export const tryDelta = (
  state: State,
  delta: readonly StoredOperation[],
  spares?: Spares,
): { readonly state: State } | { readonly failed: StateProblem } => {
  const made = known.get(delta);
  if (made?.from === state) return { state: made.to };
  const result = applyOperations(state, delta, spares);
  return 'failed' in result ? result : { state: result.value as State };
};

export const applyDelta = (state: State, delta: readonly StoredOperation[], spares?: Spares): State => {
  const result = tryDelta(state, delta, spares);
  if ('failed' in result) throw stateInvalid([result.failed]);
  return result.state;
};

/** A state that holds only these entries, as far as they exist. */
const excerpt = (state: State, paths: readonly string[]): State => {
  const parts = Map.groupBy(paths.map(segmentsOfPointer), ([part]) => part!);
  const entries = (part: string, places: readonly (readonly string[])[]): unknown => {
    const values: unknown = state[part as keyof State];
    if (!isRecord(values) || places.some(([, id]) => id === undefined)) return values;
    return Object.fromEntries(
      places.flatMap(([, id]) => (Object.hasOwn(values, id!) ? [[id!, values[id!]] as const] : [])),
    );
  };
  return Object.fromEntries([...parts].map(([part, places]) => [part, entries(part, places)])) as unknown as State;
};

/** Verifies that a delta produces the wanted values before it is stored. */
const assertReaches = (
  from: State,
  delta: readonly StoredOperation[],
  wanted: readonly { readonly path: string; readonly value: unknown }[],
): void => {
  const paths = wanted.map(({ path }) => path);
  const reached = applyDelta(excerpt(from, paths), delta);
  const astray = wanted.find(({ path, value }) => !isSameJson(valueAt(reached, path), value));
  if (astray) throw new Error(`the delta gives a wrong value at ${astray.path}`);
};

const refuseProblems = (differences: readonly Difference[]): void => {
  const problems = differences.flatMap(problemsOf);
  if (problems.length > 0) throw stateInvalid(problems);
};

/** Redacts new values and keys. An existing key that became a secret later is not changed. */
const withoutSecrets = (
  before: State,
  differences: readonly Difference[],
  redactor: Redactor,
): readonly Difference[] => {
  const clean = differences.map((difference): Difference => {
    const { path, old, now } = difference;
    const value = redactor.json(now as Json);
    if (old !== undefined) return value === now ? difference : { path, old, now: value };
    const [part, ...id] = segmentsOfPointer(path);
    const place = pointerOf(part!, ...id.map((segment) => redactor.text(segment)));
    return place === path && value === now ? difference : { path: place, old: valueAt(before, place), now: value };
  });
  if (clean.every((each, place) => each === differences[place])) return differences;
  const byPath = [...new Map(clean.map((each) => [each.path, each])).values()];
  refuseProblems(byPath);
  return byPath;
};

/**
 * Returns the collections that the draft copied, after undoing the draft's changes in them, so that they can be
 * reused. The drafted state must not be used afterwards.
 */
const sparesOf = (before: State, { state, touched }: Wanted): Spares => {
  const parts = Map.groupBy(touched, ([part]) => part as keyof State);
  return new Map(
    [...parts].flatMap(([part, paths]): readonly (readonly [Container, Container])[] => {
      const [old, copy] = [before[part], state[part]] as readonly (Record<string, unknown> | undefined)[];
      const ids = paths.map(([, id]) => id);
      if (!isRecord(old) || !isRecord(copy) || Object.isFrozen(copy)) return [];
      if (!ids.every((id) => typeof id === 'string')) return [];
      for (const id of ids) {
        if (Object.hasOwn(old, id)) put(copy, id, old[id]);
        else delete copy[id];
      }
      return [[old, copy]];
    }),
  );
};

const copyOf = (delta: readonly StoredOperation[]): StoredOperation[] => JSON.parse(JSON.stringify(delta));

/**
 * Applies a caller's function or patch. Returns the new state, the smallest delta and its inverse, which share no
 * objects with the caller.
 */
export const changeState = (
  before: State,
  change: Mutation | readonly PatchOperation[],
  redactor: Redactor = nothingSecret,
): StateChange => {
  const wanted = wantedState(before, change);
  const asked = differencesBetween(before, wanted);
  refuseProblems(asked);
  const differences = withoutSecrets(before, asked, redactor);
  const delta = copyOf(differences.flatMap(({ path, old, now }) => operationsFor(path, old, now)));
  const reaches = differences.map(({ path, now }) => ({ path, value: now }));
  assertReaches(before, delta, reaches);
  const state = applyDelta(before, delta, sparesOf(before, wanted));
  const inverse = differences.flatMap(({ path, old }) => operationsFor(path, valueAt(state, path), old));
  const takesBack = differences.map(({ path, old }) => ({ path, value: old }));
  assertReaches(state, inverse, takesBack);
  known.set(delta, { from: before, to: state });
  return { state, delta, inverse };
};

export const touchesOwn = (delta: readonly StoredOperation[]): boolean =>
  delta.some(({ path }) => segmentsOfPointer(path)[0] === 'own');
