import { type IgnoreRules, maxRulesBytes, parseIgnoreRules } from './ignore-rules.ts';

/** In any folder of a worktree, rules of what snapshots leave out, as .gitignore has them; they can take back what is decided above. */
export const ignoreFile = '.perdureignore';

/** Dependencies and caches: what a command makes again. */
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

/** Rules, and how many segments of a path lead to where they stand. */
export interface Scope {
  readonly depth: number;
  readonly rules: IgnoreRules;
}

export const defaultScopes: readonly Scope[] = [{ depth: 0, rules: parseIgnoreRules(defaultIgnores.join('\n')) }];

export const scopeOf = (folder: readonly string[], rules: Uint8Array): Scope => ({
  depth: folder.length,
  rules: parseIgnoreRules(rules.length > maxRulesBytes ? '' : new TextDecoder().decode(rules)),
});

/** The deepest rules that say something decide. */
export const isIgnored = (
  scopes: readonly Scope[],
  above: readonly string[],
  name: string,
  isFolder: boolean,
): boolean => {
  for (let place = scopes.length - 1; place >= 0; place--) {
    const { depth, rules } = scopes[place]!;
    const path = above.length === depth ? name : `${above.slice(depth).join('/')}/${name}`;
    const verdict = rules(path, isFolder);
    if (verdict) return verdict === 'ignored';
  }
  return false;
};
