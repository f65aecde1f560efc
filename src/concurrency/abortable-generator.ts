/** Makes `return` abort the current step of a generator. Otherwise `return` would wait until that step ends. */
export const abortableGenerator = <T>(
  signal: AbortSignal | undefined,
  generate: (ending: AbortSignal) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> => {
  const leaving = new AbortController();
  const steps = generate(AbortSignal.any([leaving.signal, ...(signal ? [signal] : [])]));
  const leave = steps.return.bind(steps);
  return Object.assign(steps, {
    return: (value: undefined) => {
      leaving.abort();
      return leave(value);
    },
  });
};
