import { deepFreeze } from '../../../schema/deep-freeze.ts';
import { segmentsOfPointer } from '../../../schema/pointer.ts';
import type { PatchOperation } from '../../../schema/state.ts';
import { copyRecord } from '../events/copy-record.ts';
import { isSameJson } from './patch-between.ts';

/*
 * RFC 6902 on immutable values. Each container on the way to a change is copied once, and the rest is shared. We do
 * not use a library, because existing libraries skip keys such as `constructor` or change their argument.
 */
type Value = unknown;
export type Container = Value[] | Record<string, Value>;

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
  return index <= last ? index : refuse(`${segment} is not an index of a list with ${list.length} items`);
};

const childOf = (parent: Value, segment: string): Value => {
  if (Array.isArray(parent)) return parent[indexIn(parent, segment, parent.length - 1)];
  if (parent !== null && typeof parent === 'object' && Object.hasOwn(parent, segment)) {
    return (parent as Record<string, Value>)[segment];
  }
  return refuse('there is nothing at this path');
};

const isContainer = (value: Value): value is Container => value !== null && typeof value === 'object';

/** Sets an own property, whatever its name, even `__proto__`. */
export const put = (container: Container, segment: string, value: Value): void => {
  Object.defineProperty(container, segment, { value, configurable: true, enumerable: true, writable: true });
};

/** Existing copies of containers, which may be reused instead of copying again. */
export type Spares = ReadonlyMap<Container, Container>;

/**
 * The maximum size of all copied values. It is limited because each `copy` of a copy doubles it, and a few dozen
 * copies would exhaust memory.
 */
const maxCopiedChars = 16 * 1024 * 1024;

/** Estimates the length of a value's JSON. Stops counting soon after the limit. */
const charsOf = (value: Value, limit: number): number => {
  if (typeof value === 'string') return value.length + 2;
  if (!isContainer(value)) return 4;
  let chars = 2;
  for (const [name, each] of Object.entries(value)) {
    chars += name.length + charsOf(each, limit - chars);
    if (chars > limit) break;
  }
  return chars;
};

class Patching {
  #root: Value;
  #copiedChars = 0;
  /** Containers that this patch created. Each occurs only once in the result, so that it may be changed in place. */
  readonly #own = new Set<Container>();
  readonly #spares: Spares;

  constructor(root: Value, spares: Spares) {
    this.#root = root;
    this.#spares = spares;
  }

  finish(): Value {
    for (const made of this.#own) Object.freeze(made);
    return this.#root;
  }

  apply(operation: PatchOperation): void {
    const { path } = operation;
    switch (operation.op) {
      case 'add':
        this.#add(path, deepFreeze(operation.value));
        break;
      case 'remove':
        this.#remove(path);
        break;
      case 'replace':
        this.#replace(path, deepFreeze(operation.value));
        break;
      case 'test':
        if (!isSameJson(this.#get(path), operation.value)) refuse('the value is different');
        break;
      case 'copy':
        this.#add(path, this.#copyOf(this.#get(operation.from)));
        break;
      case 'move': {
        if (path.startsWith(`${operation.from}/`)) refuse('a value cannot be moved into itself');
        const moved = this.#get(operation.from);
        this.#remove(operation.from);
        this.#add(path, moved);
      }
    }
  }

  #copyOf(value: Value): Value {
    this.#copiedChars += charsOf(value, maxCopiedChars);
    if (this.#copiedChars > maxCopiedChars) refuse(`the copies of one patch exceed ${maxCopiedChars} characters`);
    return deepFreeze(structuredClone(value));
  }

  #get(path: string): Value {
    return segmentsOfPointer(path).reduce(childOf, this.#root);
  }

  #add(path: string, added: Value): void {
    if (path === '') {
      this.#root = added;
      return;
    }
    const { container, last } = this.#placeOf(path);
    if (Array.isArray(container)) {
      container.splice(last === '-' ? container.length : indexIn(container, last, container.length), 0, added);
    } else put(container, last, added);
  }

  #remove(path: string): void {
    const { container, last } = this.#placeOf(path);
    childOf(container, last);
    if (Array.isArray(container)) container.splice(Number(last), 1);
    else delete container[last];
  }

  #replace(path: string, replacement: Value): void {
    if (path === '') {
      this.#root = replacement;
      return;
    }
    const { container, last } = this.#placeOf(path);
    childOf(container, last);
    put(container, last, replacement);
  }

  /**
   * Returns the container of the last segment of a path. After the call, this patch owns copies of all containers on
   * the path.
   */
  #placeOf(path: string): { readonly container: Container; readonly last: string } {
    const segments = segmentsOfPointer(path);
    const last = segments.at(-1);
    if (last === undefined) return refuse('this operation cannot replace the whole state');
    let container = this.#owned(this.#root);
    this.#root = container;
    for (const segment of segments.slice(0, -1)) {
      const child = this.#owned(childOf(container, segment));
      put(container, segment, child);
      container = child;
    }
    return { container, last };
  }

  #owned(value: Value): Container {
    if (!isContainer(value)) return refuse('there is nothing at this path');
    if (this.#own.has(value)) return value;
    const copy = this.#spares.get(value) ?? (Array.isArray(value) ? [...value] : copyRecord(value));
    this.#own.add(copy);
    return copy;
  }
}

/** Applies all operations, or returns the first one that fails. */
export const applyOperations = (
  value: Value,
  operations: readonly PatchOperation[],
  spares: Spares = new Map(),
): { readonly value: Value } | { readonly failed: Failed } => {
  const patching = new Patching(value, spares);
  for (const operation of operations) {
    try {
      patching.apply(operation);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { failed: { path: operation.path, message: `${operation.op} failed: ${error.message}` } };
    }
  }
  return { value: patching.finish() };
};
