/* This file avoids zod, so that the code that uses it starts quickly. */
const maxDepth = 100;

/**
 * Returns why a text cannot be stored. Rejects U+0000, which PostgreSQL cannot store as text, and lone surrogates,
 * which UTF-8 cannot encode.
 */
export const textProblem = (text: string): string | undefined => {
  if (text.includes('\u0000')) return 'text contains U+0000, which no store can keep: remove it or encode it';
  if (!text.isWellFormed())
    return 'text contains a lone surrogate, which is not valid Unicode: call toWellFormed() on it';
  return undefined;
};

export interface JsonProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

const problem = (message: string): JsonProblem => ({ path: [], message });

/**
 * Adds a step to the path of a problem. The path is built while the recursion returns, so that valid input needs no
 * path.
 */
const under = (step: string | number, { path, message }: JsonProblem): JsonProblem => ({
  path: [step, ...path],
  message,
});

const problemOfEntry = (key: string, item: unknown, depth: number): JsonProblem | undefined => {
  const message = key === '__proto__' ? 'cannot be a key: choose another name' : textProblem(key);
  return message === undefined ? problemAt(item, depth) : problem(message);
};

const problemAt = (value: unknown, depth: number): JsonProblem | undefined => {
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'string') {
    const message = textProblem(value);
    return message === undefined ? undefined : problem(message);
  }
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : problem(`${value} is not a JSON number`);
  if (value === undefined) return problem('undefined is not JSON: omit the field');
  if (typeof value !== 'object') return problem(`a ${typeof value} is not JSON`);
  if (depth >= maxDepth) return problem(`nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = problemAt(value[index], depth + 1);
      if (found) return under(index, found);
    }
    return undefined;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return problem(`a ${value.constructor?.name ?? 'foreign object'} is not JSON: pass plain objects`);
  }
  for (const key of Object.keys(value)) {
    const found = problemOfEntry(key, (value as Readonly<Record<string, unknown>>)[key], depth + 1);
    if (found) return under(key, found);
  }
  return undefined;
};

/**
 * Returns the first part of a value that is not JSON, with its path and the reason. Returns undefined if there is
 * none.
 */
export const jsonProblem = (value: unknown): JsonProblem | undefined => problemAt(value, 0);
