import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

type Exported = Pick<typeof import('../src/index.ts'), 'defineAgent' | 'defineTool' | 'openRuntime'>;

export interface Library extends Exported {
  /** Of the built entry, for other processes. */
  readonly url: string;
  remove(): Promise<void>;
}

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Builds what a user installs and measures that: run from the checkout, every process and thread would first strip types. It stands below
 * node_modules, where it finds its dependencies.
 */
export const buildLibrary = async (): Promise<Library> => {
  const folder = join(root, 'node_modules', '.cache', `perdure-bench-${process.pid}`);
  await mkdir(folder, { recursive: true });
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(folder, 'dist'), '--declaration', 'false'];
  const built = await promisify(execFile)(process.execPath, [compiler, ...options]).catch((error: unknown) => error);
  const entry = join(folder, 'dist', 'index.js');
  if (!existsSync(entry)) throw new Error('the library could not be built', { cause: built });
  const { url } = { url: pathToFileURL(entry).href };
  const { defineAgent, defineTool, openRuntime } = (await import(url)) as Exported;
  return { defineAgent, defineTool, openRuntime, url, remove: () => rm(folder, { recursive: true, force: true }) };
};
