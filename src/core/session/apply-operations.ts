import { type PatchOperation, segmentsOfPointer } from '../../schema/state.ts';
import { isSameJson } from './patch-between.ts';

/*
 * RFC 6902 on values that are never changed: what an operation touches is copied on the way down, and the rest is shared. Libraries for
 * it pass over keys such as `constructor` or change their argument; a log must give back whatever was put into it.
 */
type Value = unknown;

interface Failed {
  readonly path: string;
  readonly message: string;
}

class Refusal extends Error {}

const refuse = (message: string): never => {
  throw new Refusal(message);
};

const indexIn = (list: readonly Value[], segment: string, last: number): number => {
  const index = /^(0|[1-9]\d*)$/.test(segment) ? Number(segment) : Number.NaN;
  return index <= last ? index : refuse(`${segment} is no index of a list of ${list.length}`);
};

const childOf = (parent: Value, segment: string): Value => {
  if (Array.isArray(parent)) return parent[indexIn(parent, segment, parent.length - 1)];
  if (parent !== null && typeof parent === 'object' && Object.hasOwn(parent, segment)) {
    return (parent as Record<string, Value>)[segment];
  }
  return refuse('there is nothing at this path');
};

const withChild = (parent: Value, segment: string, child: Value): Value => {
  if (Array.isArray(parent)) return parent.with(indexIn(parent, segment, parent.length - 1), child);
  return { ...(parent as object), [segment]: child };
};

/** What becomes of the container that the last segment of a path names a place in. */
type Edit = (container: Value, last: string) => Value;

const edit = (value: Value, segments: readonly string[], change: Edit): Value => {
  const [segment, ...rest] = segments;
  if (segment === undefined) return refuse('a state cannot be replaced as a whole by this operation');
  if (rest.length === 0) {
    return value !== null && typeof value === 'object'
      ? change(value, segment)
      : refuse('there is nothing at this path');
  }
  return withChild(value, segment, edit(childOf(value, segment), rest, change));
};

const get = (value: Value, path: string): Value => segmentsOfPointer(path).reduce(childOf, value);

const add = (value: Value, path: string, added: Value): Value => {
  if (path === '') return added;
  return edit(value, segmentsOfPointer(path), (container, last) => {
    if (!Array.isArray(container)) return { ...(container as object), [last]: added };
    const index = last === '-' ? container.length : indexIn(container, last, container.length);
    return container.toSpliced(index, 0, added);
  });
};

const remove = (value: Value, path: string): Value =>
  edit(value, segmentsOfPointer(path), (container, last) => {
    childOf(container, last);
    if (Array.isArray(container)) return container.toSpliced(Number(last), 1);
    return Object.fromEntries(Object.entries(container as object).filter(([key]) => key !== last));
  });

const replace = (value: Value, path: string, replacement: Value): Value => {
  if (path === '') return replacement;
  return edit(value, segmentsOfPointer(path), (container, last) => {
    childOf(container, last);
    return withChild(container, last, replacement);
  });
};

const test = (value: Value, path: string, expected: Value): Value =>
  isSameJson(get(value, path), expected) ? value : refuse('it has another value');

const applyOne = (value: Value, operation: PatchOperation): Value => {
  const { path } = operation;
  switch (operation.op) {
    case 'add':
      return add(value, path, operation.value);
    case 'remove':
      return remove(value, path);
    case 'replace':
      return replace(value, path, operation.value);
    case 'test':
      return test(value, path, operation.value);
    case 'copy':
      return add(value, path, get(value, operation.from));
    case 'move':
      if (path.startsWith(`${operation.from}/`)) return refuse('a value cannot be moved into itself');
      return add(remove(value, operation.from), path, get(value, operation.from));
  }
};

/** All operations, or the first that fails. */
export const applyOperations = (
  value: Value,
  operations: readonly PatchOperation[],
): { readonly value: Value } | { readonly failed: Failed } => {
  let result = value;
  for (const operation of operations) {
    try {
      result = applyOne(result, operation);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { failed: { path: operation.path, message: `${operation.op} failed: ${error.message}` } };
    }
  }
  return { value: result };
};
