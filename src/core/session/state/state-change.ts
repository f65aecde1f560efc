import { create, isDraft } from 'mutative';
import { PerdureError } from '../../../schema/error.ts';
import type { Json } from '../../../schema/json.ts';
import { jsonProblem, textProblem } from '../../../schema/json-problem.ts';
import {
  type Collection,
  collections,
  maxPointerChars,
  type OwnState,
  type PatchOperation,
  pointerOf,
  type State,
  type StoredOperation,
  segmentsOfPointer,
} from '../../../schema/state.ts';
import { nothingSecret, type Redactor } from '../redaction/redact.ts';
import { applyOperations, type Container, put, type Spares } from './apply-operations.ts';
import { isRecord, isSameJson, patchBetween, type Values } from './patch-between.ts';

type LedgerDraft = { -readonly [Part in Collection]: Record<string, State[Part][string]> };

/** What a caller's function is given to change. Under `facts`, `scratch` and an `own` without a schema anything that is JSON goes. */
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

/** The library's own types unfold JSON without end. */
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

/** The array that a path goes into, when it does: what an index means depends on everything in it. */
const arrayOn = (value: unknown, segments: readonly string[]): readonly string[] | undefined => {
  let here = value;
  for (const [depth, segment] of segments.entries()) {
    if (Array.isArray(here)) return segments.slice(0, depth);
    here = isRecord(here) && Object.hasOwn(here, segment) ? here[segment] : undefined;
  }
  return undefined;
};

/** The fewest operations from one value of an entry to another; one that reaches into an array first says what the array was. */
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

/** What stands at a path on either side; undefined where nothing does. */
interface Difference {
  readonly path: string;
  readonly old: unknown;
  readonly now: unknown;
}

const ownValue = (values: Values, key: string): unknown => (Object.hasOwn(values, key) ? values[key] : undefined);

/** Of the keys that paths go to next; of all where one ends here. A key that is undefined is one that is not there. */
const keysThatDiffer = (old: Values, now: Values, touched: readonly Path[]): readonly string[] => {
  const next = touched.map(([key]) => key);
  const keys = next.includes(undefined) ? [...Object.keys(old), ...Object.keys(now)] : next;
  return [...new Set(keys)].filter(
    (key): key is string => typeof key === 'string' && ownValue(old, key) !== ownValue(now, key),
  );
};

/** Entry by entry, of those that were touched: a change leaves most of them alone. */
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

/** The state that a caller asks for, which may hold objects that are the caller's, and all paths at which it may differ. */
interface Wanted {
  readonly state: State;
  readonly touched: readonly Path[];
}

const patched = (before: State, operations: readonly PatchOperation[]): Wanted => {
  const result = applyOperations(before, operations);
  if ('failed' in result) throw stateInvalid([result.failed]);
  const paths = operations.flatMap((each) => (each.op === 'move' ? [each.from, each.path] : [each.path]));
  return { state: result.value as State, touched: paths.map(segmentsOfPointer) };
};

/** Made as a reducer makes it. The draft itself may be returned, and so may what an assignment gives. */
const isOtherState = (returned: unknown): boolean =>
  typeof returned === 'object' &&
  returned !== null &&
  !isDraft(returned) &&
  collections.every((collection) => Object.hasOwn(returned, collection));

const mutated = (before: State, mutation: Mutation): Wanted => {
  const mutate = (draft: StateDraft): void => {
    const returned = mutation(draft);
    if (isOtherState(returned)) {
      throw new PerdureError(
        'INVALID_INPUT',
        'a change of the state is made on the draft: a state that is returned is not taken',
      );
    }
    if (!(returned instanceof Promise)) return;
    returned.catch(() => undefined);
    throw new PerdureError('INVALID_INPUT', 'a change of the state cannot wait for anything: await first, then commit');
  };
  const [state, patches] = produce(before, mutate, { enablePatches: true });
  return { state, touched: patches.map(({ path }) => path) };
};

const keyProblem = (path: string): string | undefined => {
  if (path.length > maxPointerChars)
    return `the key makes a path of over ${maxPointerChars} characters: take a shorter one`;
  return path.endsWith('/__proto__') ? '__proto__ cannot be a key: choose another name' : textProblem(path);
};

const problemsOf = ({ path, now }: Difference): readonly StateProblem[] => {
  if (now === undefined) return [];
  const wrongKey = keyProblem(path);
  if (wrongKey) return [{ path, message: wrongKey }];
  const wrong = jsonProblem(now);
  return wrong ? [{ path: path + pointerOf(...wrong.path.map(String)), message: wrong.message }] : [];
};

/** Where a caller's function, or a patch, leads. */
const wantedState = (before: State, change: Mutation | readonly PatchOperation[]): Wanted => {
  const wanted = typeof change === 'function' ? mutated(before, change) : patched(before, change);
  if (!isRecord(wanted.state)) throw stateInvalid([{ path: '', message: 'expected a state' }]);
  return wanted;
};

/** Where a delta that was made here leads: to decide a commit is to know the state after it, and the fold need not find it again. */
const known = new WeakMap<readonly StoredOperation[], { readonly from: State; readonly to: State }>();

/** Applies a stored delta. What comes out can be handed to anyone: nobody can change it. */
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

/** A state of these entries alone, as far as they are there. */
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

/** Nothing is stored that does not lead where it should. */
const assertReaches = (
  from: State,
  delta: readonly StoredOperation[],
  wanted: readonly { readonly path: string; readonly value: unknown }[],
): void => {
  const paths = wanted.map(({ path }) => path);
  const reached = applyDelta(excerpt(from, paths), delta);
  const astray = wanted.find(({ path, value }) => !isSameJson(valueAt(reached, path), value));
  if (astray) throw new Error(`the delta leads to another ${astray.path} than it should`);
};

const refuseProblems = (differences: readonly Difference[]): void => {
  const problems = differences.flatMap(problemsOf);
  if (problems.length > 0) throw stateInvalid(problems);
};

/** No secret comes into the state, as a key neither. A key that was there before its secret was known stays what it is. */
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

/** The copies that the draft of a mutation made of collections, with all that it touched put back. Nobody can ask for what it led to any more. */
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

/** Lets a caller's function, or a patch, change the state; what comes out is the smallest delta and its inverse, and nothing of the caller's. */
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
