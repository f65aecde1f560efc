/**
 * Builds the published files: types by the compiler, and code bundled into a few files, because opening hundreds of
 * files is slow.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { listEntries, type Manifest } from './check-exports.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const place = 'import.meta.url';

interface Dependent extends Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
}

const manifest: Dependent = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Converts a source path below `src` into its name below `dist`. */
const nameOf = (path: string): string => path.replace(/^src\//, '').replace(/\.ts$/, '');

/** The files that a source starts by URL, as threads or processes. */
const startedBy = (path: string): readonly string[] => {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/new URL\(`(\.[^`$]*)\$\{extname/g)].map(
    ([, name]) => `${posix.join(path, '..', name!)}.ts`,
  );
};

/**
 * Rewrites `import.meta.url` so that each module sees the same URL as without bundling. Every bundled file must be
 * one folder below `dist`. The URL is kept in a variable, because other bundlers would treat a literal URL as an
 * asset.
 */
const places: Plugin = {
  name: 'places',
  transform: (code, id) => {
    const unknown = /import\.meta\.(?!url\b)\w+/.exec(code);
    if (unknown) throw new Error(`${id} uses ${unknown[0]}, which bundling would change; use ${place}`);
    if (!code.includes(place)) return undefined;
    const path = relative(root, id).replaceAll('\\', '/');
    return `const partPlace = ${place};\n${code.replaceAll(place, `new URL('../${nameOf(path)}.js', partPlace).href`)}`;
  },
};

/** Keeps only the fields of package.json that the code reads at run time. */
const ownManifest: Plugin = {
  name: 'own-manifest',
  load: (id) => {
    const { name, version, exports } = manifest;
    return id === join(root, 'package.json') ? JSON.stringify({ name, version, exports }) : undefined;
  },
};

/** The modules that are imported or started from outside, by their path below `src` and `dist`. */
export const entryNames = (): readonly string[] => {
  const sources = globSync('src/**/*.ts', { cwd: root }).map((path) => path.replaceAll('\\', '/'));
  const started = sources.filter((path) => !path.endsWith('.test.ts')).flatMap(startedBy);
  return [...new Set([...listEntries(manifest), 'src/cli/main.ts', ...started].map(nameOf))];
};

export const bundle = async (folder: string): Promise<void> => {
  const installed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const bundled = await rolldown({
    cwd: root,
    input: Object.fromEntries(entryNames().map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: (id) => installed.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [places, ownManifest],
  });
  const { output } = await bundled.write({
    dir: folder,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name].js',
    minifyInternalExports: false,
  });
  for (const file of output) {
    const isElsewhere = file.fileName.split('/').length !== 2;
    if (file.type === 'chunk' && file.code.includes(place) && isElsewhere) {
      throw new Error(
        `${file.fileName} uses import.meta.url but is not exactly one folder below dist; see "places" in scripts/build.ts`,
      );
    }
  }
};

if (import.meta.main) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
  await bundle(join(root, 'dist'));
}
