import { registerHooks } from 'node:module';
import manifest from '../../../package.json' with { type: 'json' };

const root = new URL('../../../', import.meta.url);
const isBuilt = import.meta.url.endsWith('.js');
const entries: Readonly<Record<string, string | { readonly default: string }>> = manifest.exports;

/** Resolves an import of this package itself, such as `perdure` or `perdure/tools`. */
const ownUrl = (specifier: string): string | undefined => {
  const entry = /^perdure(?=\/|$)/.test(specifier) ? entries[specifier.replace('perdure', '.')] : undefined;
  if (typeof entry !== 'object') return undefined;
  const built = entry.default;
  return new URL(isBuilt ? built : built.replace('/dist/', '/src/').replace(/\.js$/, '.ts'), root).href;
};

const code = new URL(isBuilt ? 'dist/' : 'src/', root).href;
/** Whether a module belongs to this package. */
export const isOwnCode = (url: string): boolean => url.startsWith(code);

/** The configuration and the files that it imports, directly or indirectly, except packages. */
const written = new Set<string>();
let isRegistered = false;

const resolved = <Result extends { readonly url: string }>(result: Result, parentUrl: string | undefined): Result => {
  const { url } = result;
  if (written.has(parentUrl ?? '') && url.startsWith('file:') && !url.includes('/node_modules/')) written.add(url);
  return result;
};

/**
 * Makes `perdure` in a configuration resolve to the running program, wherever both are installed. Tools need schemas,
 * so a missing `zod` resolves to the one of this package. Returns the files that the author of the configuration may
 * have written; the set grows as they are imported.
 */
export const giveOwnImports = (configuration: string): ReadonlySet<string> => {
  written.add(configuration);
  if (isRegistered) return written;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = ownUrl(specifier);
      if (url) return { url, shortCircuit: true };
      if (specifier !== 'zod') return resolved(next(specifier, context), context.parentURL);
      try {
        return next(specifier, context);
      } catch {
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
  return written;
};
