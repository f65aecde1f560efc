import type { Store } from '../../../src/core/ports/store.ts';

/** The store with some of its methods replaced. */
export const overrideStore = <S extends Store>(store: S, methods: Partial<S>): S =>
  new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
