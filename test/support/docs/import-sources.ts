/** Preloaded by programs of the documents: the package comes from its sources, and other packages from beside it. */
import { registerHooks } from 'node:module';
import { sourceOf } from './package-sources.ts';

registerHooks({
  resolve: (name, context, next) => {
    const isPackage = /^[@a-z]/i.test(name) && !name.includes(':');
    return next(sourceOf(name) ?? name, isPackage ? { ...context, parentURL: import.meta.url } : context);
  },
});
