/**
 * Preloaded by programs in the documents. Resolves the package to its sources, and other packages to those installed
 * next to it.
 */
import { registerHooks } from 'node:module';
import { sourceOf } from './package-sources.ts';

registerHooks({
  resolve: (name, context, next) => {
    const isPackage = /^[@a-z]/i.test(name) && !name.includes(':');
    return next(sourceOf(name) ?? name, isPackage ? { ...context, parentURL: import.meta.url } : context);
  },
});
