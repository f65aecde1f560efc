import { type IgnoreRules, maxRulesBytes, parseIgnoreRules } from './ignore-rules.ts';

/**
 * The name of files with rules in .gitignore syntax for paths that snapshots leave out. Any folder can have one, and
 * its rules override the rules of the folders above.
 */
export const ignoreFile = '.perdureignore';

/** The default rules: dependencies and caches, which a command can recreate. */
const defaultIgnores = [
  'node_modules/',
  '.venv/',
  'venv/',
  '__pycache__/',
  '.cache/',
  '.pytest_cache/',
  '.mypy_cache/',
  '.ruff_cache/',
  '.tox/',
  '.gradle/',
  '.turbo/',
  '.parcel-cache/',
];

/** Rules and the depth of the folder that contains them. */
export interface Scope {
  readonly depth: number;
  readonly rules: IgnoreRules;
}

export const defaultScopes: readonly Scope[] = [{ depth: 0, rules: parseIgnoreRules(defaultIgnores.join('\n')) }];

export const scopeOf = (folder: readonly string[], rules: Uint8Array): Scope => ({
  depth: folder.length,
  rules: parseIgnoreRules(rules.length > maxRulesBytes ? '' : new TextDecoder().decode(rules)),
});

/** Returns a test for the names in a folder. The deepest rules that match decide. */
export const ignoredIn = (
  scopes: readonly Scope[],
  folder: readonly string[],
): ((name: string, isFolder: boolean) => boolean) => {
  const deepestFirst = scopes.toReversed().map(({ depth, rules }) => ({
    rules,
    prefix: folder
      .slice(depth)
      .map((segment) => `${segment}/`)
      .join(''),
  }));
  return (name, isFolder) => {
    for (const { rules, prefix } of deepestFirst) {
      const verdict = rules(prefix + name, isFolder);
      if (verdict) return verdict === 'ignored';
    }
    return false;
  };
};
