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

const code = new URL(isBuilt ? 'dist/' : 'src/', root).href;
/** Whether a module is of this very package. */
export const isOwnCode = (url: string): boolean => url.startsWith(code);

/** The configuration and what it imports, from file to file, up to packages. */
const written = new Set<string>();
let isRegistered = false;

const resolved = <Result extends { readonly url: string }>(result: Result, parentUrl: string | undefined): Result => {
  const { url } = result;
  if (written.has(parentUrl ?? '') && url.startsWith('file:') && !url.includes('/node_modules/')) written.add(url);
  return result;
};

/**
 * What a configuration imports as `perdure` is what runs it, wherever either of them stands: a checkout, a global installation, a project.
 * Tools need schemas: where there is no `zod`, it is given the one that is here. Gives the files that its author may have written, more
 * and more as they are asked for.
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
