/** Builds what is packed: types by the compiler, and code in few files, since opening hundreds takes longer than what they do. */
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

/** The path of a source file below `src`, as that of what is built from it below `dist`. */
const nameOf = (path: string): string => path.replace(/^src\//, '').replace(/\.ts$/, '');

/** Files that are started by their place, as threads and processes are. */
const startedBy = (path: string): readonly string[] => {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/new URL\(`(\.[^`$]*)\$\{extname/g)].map(
    ([, name]) => `${posix.join(path, '..', name!)}.ts`,
  );
};

/**
 * A file that asks for its place is told the one it would have alone. Whatever it ends up in stands in a folder of `dist`. By way of a
 * name: what bundlers of others know as the address of an asset is none.
 */
const places: Plugin = {
  name: 'places',
  transform: (code, id) => {
    const unknown = /import\.meta\.(?!url\b)\w+/.exec(code);
    if (unknown) throw new Error(`${id} asks for ${unknown[0]}, which would tell another place: use ${place}`);
    if (!code.includes(place)) return undefined;
    const path = relative(root, id).replaceAll('\\', '/');
    return `const partPlace = ${place};\n${code.replaceAll(place, `new URL('../${nameOf(path)}.js', partPlace).href`)}`;
  },
};

/** Of package.json, what is asked of it while it runs. */
const ownManifest: Plugin = {
  name: 'own-manifest',
  load: (id) => {
    const { name, version, exports } = manifest;
    return id === join(root, 'package.json') ? JSON.stringify({ name, version, exports }) : undefined;
  },
};

/** What is imported or started from outside, by its path below `src` and `dist`. */
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
        `${file.fileName} asks for its place and is not one folder below: see "places" in scripts/build.ts`,
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
