export type Call = (...args: readonly unknown[]) => unknown;

/** The same handle, each method wrapped when it is asked for: a handle has dozens, and most live for one call. */
export const wrapMethods = <Handle extends object>(handle: Handle, wrap: (name: string, call: Call) => Call): Handle =>
  new Proxy(handle, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      return typeof value === 'function' && !(name in Object.prototype) ? wrap(String(name), value as Call) : value;
    },
  });
