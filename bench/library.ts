import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle } from '../scripts/build.ts';

type Exported = Pick<typeof import('../src/index.ts'), 'defineAgent' | 'defineTool' | 'openRuntime'>;

export interface Library extends Exported {
  /** The URL of the built entry, for other processes. */
  readonly url: string;
  remove(): Promise<void>;
}

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Builds the package as a user would install it, because from a checkout every process and thread would first strip
 * types. The build is put below node_modules, where it finds its dependencies.
 */
export const buildLibrary = async (): Promise<Library> => {
  const folder = join(root, 'node_modules', '.cache', `perdure-bench-${process.pid}`);
  await mkdir(folder, { recursive: true });
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  await bundle(join(folder, 'dist'));
  const { href: url } = pathToFileURL(join(folder, 'dist', 'index.js'));
  const { defineAgent, defineTool, openRuntime } = (await import(url)) as Exported;
  return { defineAgent, defineTool, openRuntime, url, remove: () => rm(folder, { recursive: true, force: true }) };
};
