import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

const starters = ['postgres.ts', 'start-postgres.ts'].map((name) => resolve(import.meta.dirname, name));

const importsOf = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)]
    .map(([, path]) => resolve(dirname(file), path!))
    .filter((path) => existsSync(path));

/** Those test files that import, directly or through others, what starts PostgreSQL or creates a database on it. */
export const testsOnPostgres = (include: readonly string[], exclude: readonly string[]): string[] => {
  const reached = new Map(starters.map((file) => [file, true]));
  const reaches = (file: string): boolean => {
    const known = reached.get(file);
    if (known !== undefined) return known;
    reached.set(file, false);
    const found = importsOf(file).some(reaches);
    reached.set(file, found);
    return found;
  };
  const files = globSync([...include], { exclude: [...exclude] }).map((file) => resolve(file));
  return files.filter(reaches).map((file) => relative('.', file));
};
