import packageJson from '../../../package.json' with { type: 'json' };

const { name, exports } = packageJson;

/** `perdure/client` and where it is written: as in the package, but before it is built. */
export const packageSources: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(exports).flatMap((entry, index) => {
    if (typeof entry === 'string') return [];
    const source = entry.default.replace('./dist/', '../../../src/').replace(/\.js$/, '.ts');
    return [[Object.keys(exports)[index]!.replace('.', name), new URL(source, import.meta.url).href]];
  }),
);

export const sourceOf = (specifier: string): string | undefined => packageSources[specifier];
