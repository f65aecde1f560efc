const sorted = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b);

/** The value below which a `share` of the values lie. If it falls between two values, the lower one. */
export const percentile = (values: readonly number[], share: number): number =>
  sorted(values)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN;

export const median = (values: readonly number[]): number => {
  const inOrder = sorted(values);
  const middle = inOrder.length / 2;
  return ((inOrder[Math.ceil(middle) - 1] ?? Number.NaN) + (inOrder[Math.floor(middle)] ?? Number.NaN)) / 2;
};

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const timeOf = async (work: () => Promise<unknown> | unknown): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
