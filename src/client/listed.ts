/** An answer that wraps a method's result under one property. */
export type Listed<Name extends string, Method extends (...args: never[]) => Promise<unknown>> = Readonly<
  Record<Name, Awaited<ReturnType<Method>>>
>;
