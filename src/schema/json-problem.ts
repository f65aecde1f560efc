/* Without zod, for what has to start quickly. */
const maxDepth = 100;

/** PostgreSQL cannot store U+0000 as text and UTF-8 cannot carry half a surrogate pair: neither may enter a log. */
export const textProblem = (text: string): string | undefined => {
  if (text.includes('\u0000')) return 'text holds U+0000, which no store can keep: remove it or encode it';
  if (!text.isWellFormed()) return 'text holds a lone surrogate, which is not valid Unicode: call toWellFormed() on it';
  return undefined;
};

export interface JsonProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export const jsonProblem = (value: unknown, path: readonly (string | number)[] = []): JsonProblem | undefined => {
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'string') {
    const message = textProblem(value);
    return message === undefined ? undefined : { path, message };
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : { path, message: `${value} is not a JSON number` };
  }
  if (value === undefined) return { path, message: 'undefined is not JSON: leave it out' };
  if (typeof value !== 'object') return { path, message: `a ${typeof value} is not JSON` };
  if (path.length >= maxDepth) return { path, message: `nested deeper than ${maxDepth} levels` };
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const problem = jsonProblem(item, [...path, index]);
      if (problem) return problem;
    }
    return undefined;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return { path, message: `a ${value.constructor?.name ?? 'foreign object'} is not JSON: pass plain objects` };
  }
  for (const [key, item] of Object.entries(value)) {
    const message = key === '__proto__' ? 'cannot be a key: choose another name' : textProblem(key);
    if (message) return { path: [...path, key], message };
    const problem = jsonProblem(item, [...path, key]);
    if (problem) return problem;
  }
  return undefined;
};
