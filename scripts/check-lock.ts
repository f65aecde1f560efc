/** Checks that the lock file installs the dependencies of package.json on every platform, from any registry. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { reportProblems } from './report-problems.ts';

interface Package {
  version?: string;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

export interface Lock {
  version?: string;
  packages: Record<string, Package>;
}

const copied = ['name', 'version', 'dependencies', 'devDependencies', 'peerDependencies', 'engines', 'bin'] as const;
export type Manifest = Partial<Record<(typeof copied)[number], unknown>>;

export function findLockProblems(manifest: Manifest, lock: Lock): string[] {
  const root: Manifest = lock.packages[''] ?? {};
  const problems: string[] = copied
    .filter((field) => !isDeepStrictEqual(root[field], manifest[field]))
    .map((field) => `"${field}" differs between package.json and the lock: run npm install`);
  for (const [path, { resolved, optionalDependencies = {} }] of Object.entries(lock.packages)) {
    if (resolved) problems.push(`${path} is bound to the address ${resolved}`);
    for (const [name, range] of Object.entries(optionalDependencies)) {
      const isLocked = lock.packages[`node_modules/${name}`] ?? lock.packages[`${path}/node_modules/${name}`];
      // npm omits platform packages that a registry lacks, and later rejects the resulting lock file.
      if (/^\d/.test(range) && !isLocked) problems.push(`${path} lacks its optional ${name}@${range}`);
    }
  }
  return problems;
}

if (import.meta.main) {
  const problems: string[] = [];
  let count = 0;
  for (const folder of ['', 'bench/peers/']) {
    const [manifest, lock] = ['package.json', 'package-lock.json'].map((name) =>
      JSON.parse(readFileSync(`${folder}${name}`, 'utf8')),
    );
    count += Object.keys(lock.packages).length - 1;
    problems.push(...findLockProblems(manifest, lock).map((problem) => `${folder}${problem}`));
  }
  reportProblems('lock', `${count} packages, whole`, problems);
}
