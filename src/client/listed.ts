/** An answer that has what a method gives under a name. */
export type Listed<Name extends string, Method extends (...args: never[]) => Promise<unknown>> = Readonly<
  Record<Name, Awaited<ReturnType<Method>>>
>;
