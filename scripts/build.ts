/** Builds what is packed: types by the compiler, and code in few files, since opening hundreds takes longer than what they do. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { listEntries, type Manifest } from './check-exports.ts';
import { readFiles } from './read-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const place = 'import.meta.url';

interface Dependent extends Manifest {
  readonly dependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
}

/** The path of a source file below `src`, as that of what is built from it below `dist`. */
const nameOf = (path: string): string => path.replace(/^src\//, '').replace(/\.ts$/, '');

/** Files that are started by their place, as threads and processes are. */
const startedBy = ([path, text]: readonly [string, string]): readonly string[] =>
  [...text.matchAll(/new URL\(`(\.[^`$]*)\$\{extname/g)].map(([, name]) => `${join(path, '..', name!)}.ts`);

/** A file that asks for its place is told the one it would have alone. Whatever it ends up in stands in a folder of `dist`. */
const places: Plugin = {
  name: 'places',
  transform: (code, id) => {
    const own = `new URL('../${nameOf(relative(root, id))}.js', ${place}).href`;
    return code.includes(place) ? code.replaceAll(place, own) : undefined;
  },
};

const manifest: Dependent = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** What is imported or started from outside, by its path below `src` and `dist`. */
export const entryNames = (): readonly string[] => {
  const sources = [...readFiles('src/**/*.ts')].filter(([path]) => !path.endsWith('.test.ts'));
  const entries = [...listEntries(manifest), 'src/cli/main.ts', ...sources.flatMap(startedBy)];
  return [...new Set(entries.map(nameOf))];
};

export const bundle = async (folder: string): Promise<void> => {
  const installed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const bundled = await rolldown({
    cwd: root,
    input: Object.fromEntries(entryNames().map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: (id) => installed.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [places],
  });
  const { output } = await bundled.write({
    dir: folder,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
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
