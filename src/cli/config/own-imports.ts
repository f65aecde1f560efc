import { registerHooks } from 'node:module';
import manifest from '../../../package.json' with { type: 'json' };

const root = new URL('../../../', import.meta.url);
const isBuilt = import.meta.url.endsWith('.js');
const entries: Readonly<Record<string, string | { readonly default: string }>> = manifest.exports;

/** Where a part of this very package is, as `perdure` or `perdure/tools`. */
const ownUrl = (specifier: string): string | undefined => {
  const entry = /^perdure(?=\/|$)/.test(specifier) ? entries[specifier.replace('perdure', '.')] : undefined;
  if (typeof entry !== 'object') return undefined;
  const built = entry.default;
  return new URL(isBuilt ? built : built.replace('/dist/', '/src/').replace(/\.js$/, '.ts'), root).href;
};

let isRegistered = false;

/**
 * What a configuration imports as `perdure` is what runs it, wherever either of them stands: a checkout, a global installation, a project.
 * Tools need schemas: where there is no `zod`, it is given the one that is here.
 */
export const giveOwnImports = (): void => {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = ownUrl(specifier);
      if (url) return { url, shortCircuit: true };
      if (specifier !== 'zod') return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
};
