/**
 * Checks that everything package.json promises exists: the source of every subpath, the command, and the files to
 * pack.
 */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { reportProblems } from './report-problems.ts';

export interface Manifest {
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
  files: string[];
}

export interface Disk {
  exists(path: string): boolean;
  isExecutable(path: string): boolean;
}

const builtFrom = (target: string) =>
  target.replace(/^\.\/dist\//, 'src/').replace(target.endsWith('.d.ts') ? /\.d\.ts$/ : /\.js$/, '.ts');

/** Returns the source file of each subpath, derived from its `default` target. */
export function listEntries({ exports }: Manifest): string[] {
  return Object.values(exports).flatMap((target) =>
    typeof target === 'string' || !target.default ? [] : builtFrom(target.default),
  );
}

export function findExportProblems(manifest: Manifest, disk: Disk): string[] {
  const problems: string[] = [];
  for (const [subpath, targets] of Object.entries(manifest.exports)) {
    if (typeof targets === 'string') {
      if (!disk.exists(targets)) problems.push(`${subpath} leads to ${targets}, which is missing`);
      continue;
    }
    if (Object.keys(targets).join() !== 'types,default') problems.push(`${subpath} needs "types", then "default"`);
    for (const target of Object.values(targets)) {
      if (!target.startsWith('./dist/')) problems.push(`${subpath} leads to ${target}, outside dist`);
      else if (!disk.exists(builtFrom(target))) problems.push(`${subpath} has no source ${builtFrom(target)}`);
    }
  }
  for (const path of Object.values(manifest.bin)) {
    if (!disk.exists(path)) problems.push(`the command ${path} is missing`);
    else if (!disk.isExecutable(path)) problems.push(`the command ${path} is not executable`);
  }
  const unpacked = manifest.files.filter((path) => path !== 'dist' && !disk.exists(path.replace(/^!/, '')));
  return [...new Set(problems), ...unpacked.map((path) => `"files" lists ${path}, which is missing`)];
}

async function findLoadProblem(entry: string): Promise<string[]> {
  return import(pathToFileURL(resolve(entry)).href).then(
    () => [],
    (error: unknown) => [`${entry} does not load: ${error}`],
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'));
  const entries = listEntries(manifest);
  const problems = findExportProblems(manifest, { exists: existsSync, isExecutable });
  const loading = await Promise.all(entries.filter(existsSync).map(findLoadProblem));
  reportProblems('exports', `${entries.length} subpaths load`, [...problems, ...loading.flat()]);
}
