import packageJson from '../../../package.json' with { type: 'json' };

const { name, exports } = packageJson;

/** Maps package subpaths such as `perdure/client` to their source files, because the package is not built yet. */
export const packageSources: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(exports).flatMap((entry, index) => {
    if (typeof entry === 'string') return [];
    const source = entry.default.replace('./dist/', '../../../src/').replace(/\.js$/, '.ts');
    return [[Object.keys(exports)[index]!.replace('.', name), new URL(source, import.meta.url).href]];
  }),
);

export const sourceOf = (specifier: string): string | undefined => packageSources[specifier];
