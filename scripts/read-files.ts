import { globSync, readFileSync } from 'node:fs';

/** The texts of all matching files by path, in order. Paths have forward slashes on every system. */
export function readFiles(...patterns: string[]): Map<string, string> {
  const paths = globSync(patterns, { exclude: ['**/node_modules/**'] }).map((path) => path.replaceAll('\\', '/'));
  return new Map(paths.sort().map((path) => [path, readFileSync(path, 'utf8')]));
}
